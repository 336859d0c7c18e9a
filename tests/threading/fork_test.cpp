// SPDX-License-Identifier: Apache-2.0
// A pool in a child process: its threads stay with the parent, the work must be done all the same.
#include <gtest/gtest.h>

#include "threading/counting_job.hpp"

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

namespace nibblas::test {
namespace {

bool computes(Executor& executor) {
  for (int round = 0; round < 20; ++round) {
    CountingJob job(37);
    job.run(executor);
    if (!job.complete()) return false;
  }
  return true;
}

/// What `f` returns in a child process; a child that hangs is killed and counts as failed.
template <class F>
::testing::AssertionResult in_child(const F& f) {
  const pid_t child = fork();
  if (child < 0) return ::testing::AssertionFailure() << "fork failed";
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return ::testing::AssertionFailure() << "waitpid failed";
  if (WIFSIGNALED(status)) return ::testing::AssertionFailure() << "child killed by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return ::testing::AssertionFailure() << "wrong result in the child";
  return ::testing::AssertionSuccess();
}

class Fork : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kTsan) GTEST_SKIP() << "ThreadSanitizer does not support forks of programs with threads";
  }
};

TEST_F(Fork, ChecksItsOwnChildren) {
  EXPECT_FALSE(in_child([] { return false; }));
  EXPECT_FALSE(in_child([] {
    alarm(1);
    while (true) pause();
    return true;
  }));
}

TEST_F(Fork, BeforeTheFirstPool) {
  EXPECT_TRUE(in_child([] {
    ThreadPool pool(3);
    return pool.concurrency() == 3 && computes(pool);
  }));
}

TEST_F(Fork, BetweenCreationAndUse) {
  ThreadPool pool(3);
  EXPECT_TRUE(in_child([&] { return pool.concurrency() == 1 && computes(pool); }));
  EXPECT_EQ(pool.concurrency(), 3u);
  EXPECT_TRUE(computes(pool));
}

TEST_F(Fork, BetweenUses) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(computes(pool));
    EXPECT_TRUE(in_child([&] { return computes(pool); }));
  }
  EXPECT_TRUE(computes(pool));
}

TEST_F(Fork, ChildDestroysThePool) {
  auto pool = std::make_unique<ThreadPool>(3);
  EXPECT_TRUE(computes(*pool));
  EXPECT_TRUE(in_child([&] {
    pool.reset();
    return true;
  }));
  EXPECT_TRUE(computes(*pool));
}

TEST_F(Fork, ChildMakesItsOwnPool) {
  ThreadPool pool(3);
  EXPECT_TRUE(computes(pool));
  EXPECT_TRUE(in_child([&] {
    ThreadPool own(4);
    return own.concurrency() == 4 && computes(own) && computes(pool) && computes(own);
  }));
}

TEST_F(Fork, Grandchild) {
  ThreadPool pool(2);
  EXPECT_TRUE(in_child([&] {
    ThreadPool own(2);
    if (!computes(own)) return false;
    return static_cast<bool>(in_child([&] { return computes(pool) && computes(own) && own.concurrency() == 1; })) &&
           own.concurrency() == 2;
  }));
}

TEST_F(Fork, WhileAnotherThreadIsInsideAJob) {
  ThreadPool pool(3);
  std::atomic<bool> inside{false}, release{false};
  std::thread other([&] {
    run_on(pool, 8, [&](std::size_t) {
      inside.store(true);
      while (!release.load()) std::this_thread::yield();
    });
  });
  while (!inside.load()) std::this_thread::yield();
  EXPECT_TRUE(in_child([&] { return computes(pool); }));
  release.store(true);
  other.join();
  EXPECT_TRUE(computes(pool));
}

TEST_F(Fork, AgainAndAgainWhileOthersWork) {
  ThreadPool pool(3);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread other([&] {
    while (!stop.load()) wrong.fetch_add(computes(pool) ? 0 : 1);
  });
  for (int round = 0; round < 50; ++round) {
    // The child neither allocates nor prints: another thread may have held the allocator's lock.
    EXPECT_TRUE(in_child([&] {
      std::size_t sum = 0;
      run_on(pool, 11, [&](std::size_t i) { sum += i; });
      return sum == 55;
    }));
  }
  stop.store(true);
  other.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace nibblas::test
#endif
