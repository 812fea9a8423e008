// Tells ThreadSanitizer about Abseil's locks and about gRPC's operations.
//
// Debian's Abseil is not instrumented, so that ThreadSanitizer sees neither its mutexes nor its
// notifications and takes everything they guard for a race. The linker (--wrap, cmake/toolchain.cmake)
// sends our calls of them through the functions below, which add the missing edges. A symbol's name is
// what follows "__wrap_"; `self` is the object.
#include <dlfcn.h>

#include <cstddef>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);

// gRPC is not instrumented either. What a thread did before it started an operation comes before what the
// callback of that operation does on a thread of gRPC's. The callback itself cannot be caught, but to hand
// its news on it takes a lock: so every lock taken comes after the operations started so far. Races
// inside of gRPC's own templates are in tests/tsan.supp.
static char qb_grpc_operations;

// Stands before libgrpc's function of this name: the libraries find it here first.
int grpc_call_start_batch(void* call, const void* operations, size_t count, void* tag,
                          void* reserved) {
  using Function = int (*)(void*, const void*, size_t, void*, void*);
  static const auto kNext =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "grpc_call_start_batch"));
  __tsan_release(&qb_grpc_operations);
  return kNext(call, operations, count, tag, reserved);
}

#define QB_WRAP(result, symbol, ...) \
  result __real_##symbol(__VA_ARGS__);  \
  result __wrap_##symbol(__VA_ARGS__)

// While a mutex is given back or waited for, conditions are evaluated, of this thread or of others: under
// the mutex, but where no edge can be drawn. Their reads are not looked at.
#define QB_UNSEEN(call)                          \
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);  \
  call;                                          \
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__)

// Mutex: taking it acquires, giving it back releases.
#define QB_WRAP_LOCK(symbol)                   \
  QB_WRAP(void, symbol, absl::Mutex* self) {   \
    __real_##symbol(self);                     \
    __tsan_acquire(self);                      \
    __tsan_acquire(&qb_grpc_operations);       \
  }
#define QB_WRAP_UNLOCK(symbol)                 \
  QB_WRAP(void, symbol, absl::Mutex* self) {   \
    __tsan_release(self);                      \
    QB_UNSEEN(__real_##symbol(self));          \
  }
#define QB_WRAP_TRY(symbol)                    \
  QB_WRAP(bool, symbol, absl::Mutex* self) {   \
    const bool taken = __real_##symbol(self);  \
    if (taken) {                               \
      __tsan_acquire(self);                    \
    }                                          \
    return taken;                              \
  }
// Waiting gives the mutex back and takes it again. The condition may be evaluated by another thread
// under the mutex, so what the waiter wrote is released before.
#define QB_WRAP_WAIT(result, symbol, type)                                                     \
  QB_WRAP(result, symbol, absl::Mutex* self, const absl::Condition& condition, type limit) {   \
    __tsan_release(self);                                                                      \
    result met;                                                                                \
    QB_UNSEEN(met = __real_##symbol(self, condition, limit));                                  \
    __tsan_acquire(self);                                                                      \
    return met;                                                                                \
  }
#define QB_WRAP_WAIT_FOREVER(symbol)                                                  \
  QB_WRAP(void, symbol, absl::Mutex* self, const absl::Condition& condition) {        \
    __tsan_release(self);                                                             \
    QB_UNSEEN(__real_##symbol(self, condition));                                      \
    __tsan_acquire(self);                                                             \
  }

QB_WRAP_LOCK(_ZN4absl7debian35Mutex4LockEv)
QB_WRAP_LOCK(_ZN4absl7debian35Mutex10ReaderLockEv)
QB_WRAP_UNLOCK(_ZN4absl7debian35Mutex6UnlockEv)
QB_WRAP_UNLOCK(_ZN4absl7debian35Mutex12ReaderUnlockEv)
QB_WRAP_TRY(_ZN4absl7debian35Mutex7TryLockEv)
QB_WRAP_TRY(_ZN4absl7debian35Mutex13ReaderTryLockEv)
QB_WRAP_WAIT_FOREVER(_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE)
QB_WRAP_WAIT_FOREVER(_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE)
QB_WRAP_WAIT_FOREVER(_ZN4absl7debian35Mutex14ReaderLockWhenERKNS0_9ConditionE)
QB_WRAP_WAIT(bool, _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
             absl::Duration)
QB_WRAP_WAIT(bool, _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
             absl::Time)
QB_WRAP_WAIT(bool, _ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE,
             absl::Duration)
QB_WRAP_WAIT(bool, _ZN4absl7debian35Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE,
             absl::Time)

// CondVar: the edges are those of the mutex.
QB_WRAP(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, absl::CondVar* self, absl::Mutex* mutex) {
  __tsan_release(mutex);
  QB_UNSEEN(__real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(self, mutex));
  __tsan_acquire(mutex);
}
QB_WRAP(bool, _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
        absl::CondVar* self, absl::Mutex* mutex, absl::Duration limit) {
  __tsan_release(mutex);
  bool late;
  QB_UNSEEN(late = __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(self, mutex, limit));
  __tsan_acquire(mutex);
  return late;
}
QB_WRAP(bool, _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
        absl::CondVar* self, absl::Mutex* mutex, absl::Time limit) {
  __tsan_release(mutex);
  bool late;
  QB_UNSEEN(late = __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(self, mutex, limit));
  __tsan_acquire(mutex);
  return late;
}

// Notification: notifying releases; whoever learns of it acquires.
QB_WRAP(void, _ZN4absl7debian312Notification6NotifyEv, absl::Notification* self) {
  __tsan_release(self);
  __real__ZN4absl7debian312Notification6NotifyEv(self);
}
QB_WRAP(void, _ZNK4absl7debian312Notification19WaitForNotificationEv, absl::Notification* self) {
  __real__ZNK4absl7debian312Notification19WaitForNotificationEv(self);
  __tsan_acquire(self);
}
QB_WRAP(bool, _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE,
        absl::Notification* self, absl::Duration limit) {
  const bool come =
      __real__ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE(self,
                                                                                            limit);
  if (come) {
    __tsan_acquire(self);
  }
  return come;
}
QB_WRAP(bool, _ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE,
        absl::Notification* self, absl::Time limit) {
  const bool come =
      __real__ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE(self,
                                                                                         limit);
  if (come) {
    __tsan_acquire(self);
  }
  return come;
}

// BlockingCounter.
QB_WRAP(bool, _ZN4absl7debian315BlockingCounter14DecrementCountEv, absl::BlockingCounter* self) {
  __tsan_release(self);
  return __real__ZN4absl7debian315BlockingCounter14DecrementCountEv(self);
}
QB_WRAP(void, _ZN4absl7debian315BlockingCounter4WaitEv, absl::BlockingCounter* self) {
  __real__ZN4absl7debian315BlockingCounter4WaitEv(self);
  __tsan_acquire(self);
}

}  // extern "C"
