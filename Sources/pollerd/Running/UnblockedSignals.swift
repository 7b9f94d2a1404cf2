import Foundation

/// Starts a child process that hears signals.
///
/// Swift's worker threads block nearly every signal, and a child inherits the mask of the thread
/// that starts it: a redis-server started from a task would never notice SIGTERM.
func withUnblockedSignals<Result>(_ start: () throws -> Result) rethrows -> Result {
    var none = sigset_t()
    var before = sigset_t()
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try start()
}
