import Poller
package import RedisClient

extension StoreError {
    /// What an error of the client means to the callers of a store.
    package init(_ error: RedisError) {
        switch error {
        case .reply(let reply) where reply.code == "OOM":
            self = .full
        case .reply(let reply)
        where [
            "LOADING", "READONLY", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS",
            "NOAUTH", "NOPERM", "WRONGPASS", "NOSCRIPT", "MISCONF",
        ].contains(reply.code):
            self = .unavailable("\(reply)")
        case .reply(let reply):
            self = .corrupt("\(reply)")
        case .protocolError(let detail), .replyTooLarge(let detail):
            self = .corrupt(detail)
        default:
            self = .unavailable("\(error)")
        }
    }
}
