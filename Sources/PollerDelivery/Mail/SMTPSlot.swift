import Synchronization

/// One thread's place for a mail session, made with the first mail and kept.
///
/// A class, because that is what a thread-specific variable holds; the mutex is never contended,
/// it is how the compiler knows that the libcurl handle stays with one user.
final class SMTPSlot: Sendable {
    private let session = Mutex<SMTPSession?>(nil)

    /// Runs `body` with this thread's session; nil when libcurl cannot start.
    func withSession<R: Sendable>(_ body: @Sendable (SMTPSession) -> R) -> R? {
        session.withLock { session in
            if session == nil { session = SMTPSession() }
            return session.map { body($0) }
        }
    }
}
