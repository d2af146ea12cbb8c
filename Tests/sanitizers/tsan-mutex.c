// Tells the thread sanitizer what the slow path of Swift's Mutex does.
//
// Its fast path is inlined into our code, where the sanitizer sees the atomics; the slow one lies
// in libswiftSynchronization, which is not instrumented, so that each lock taken under contention
// would look like none. Preloaded by scripts/test-sanitized; a suppression would have to hide
// everything a Mutex guards.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Absent in programs without the sanitizer.
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);

typedef SWIFT void (*lock_function)(uint32_t, SELF void *);
typedef SWIFT void (*unlock_function)(SELF void *);

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK);

static lock_function real_lock;
static unlock_function real_unlock;

__attribute__((constructor)) static void find(void) {
  real_lock = (lock_function)dlsym(RTLD_NEXT, LOCK);
  real_unlock = (unlock_function)dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
  real_lock(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
  if (__tsan_release) __tsan_release(mutex);
  real_unlock(mutex);
}
