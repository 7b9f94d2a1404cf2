import Poller
package import RedisClient

extension StoreError {
    /// What an error of the client means to the callers of a store.
    ///
    /// A script that met a key on its way to another node had read before it wrote, so repeating is
    /// safe; every other answer that says "not now" means that nothing was executed.
    package init(_ error: RedisError) {
        switch error {
        case .reply(let reply):
            switch reply.kind {
            case .outOfMemory: self = .full
            case .other: self = .corrupt("\(reply)")
            default: self = .unavailable("\(reply)")
            }
        case .protocolError(let detail), .replyTooLarge(let detail):
            self = .corrupt(detail)
        default:
            self = .unavailable("\(error)")
        }
    }
}
