import NIOCore

/// One call of ``RedisClient``: what to write, how many replies to expect, who waits for them.
///
/// A class because the caller, the inbox and the event loop refer to the same call.
/// `@unchecked Sendable`: who waits is set before the request is posted, everything mutable is
/// touched on the event loop only from then on.
final class RedisRequest: @unchecked Sendable {
    /// Every reply, or why there is none.
    typealias Outcome = Result<[RedisValue], RedisError>

    /// The commands as RESP.
    let wire: ByteBuffer
    /// How many replies they have.
    let commands: Int
    /// The number in ``RedisPipelineState``, once accepted.
    var id: UInt64?
    /// Whether the caller has left before the request was accepted.
    var isCancelled = false
    private var continuation: CheckedContinuation<Outcome, Never>?
    private var completion: (@Sendable (Outcome) -> Void)?

    init(wire: ByteBuffer, commands: Int) {
        self.wire = wire
        self.commands = commands
    }

    /// Called once, before posting.
    func attach(_ continuation: CheckedContinuation<Outcome, Never>) {
        self.continuation = continuation
    }

    /// Called once, before posting, by a caller that is no task.
    func attach(_ completion: @escaping @Sendable (Outcome) -> Void) {
        self.completion = completion
    }

    /// Answers the caller, once.
    func resume(_ outcome: Outcome) {
        continuation?.resume(returning: outcome)
        continuation = nil
        completion.take()?(outcome)
    }
}
