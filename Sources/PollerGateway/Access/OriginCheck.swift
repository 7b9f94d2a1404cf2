import NIOHTTP1
import PollerNet

/// Decides which web pages may connect: pages of the configured origins and of the gateway's origin.
///
/// Browsers send `Origin` and let any page connect to any address. Without this check every page could subscribe at a
/// gateway that trusts its machine.
///
/// *The gateway's origin* is the `Host` of the request. The gateway serves no pages, but some WebSocket clients send
/// the address they connect to (Python's websocket-client does by default). A page that has rebound its name to the
/// gateway's address passes too, and gains nothing. It has no credentials, and without keys only a `Host` of this
/// machine is trusted (``Authorizer/anonymous(_:from:)``).
struct OriginCheck: Sendable {
    let allowed: Set<String>

    /// Returns the reason for a rejection, or `nil` if the origin may connect.
    func refusal(of head: HTTPRequestHead) -> Refusal? {
        guard head.headers["origin"].allSatisfy({ isAllowed($0, head) }) else {
            return Refusal(
                status: .forbidden,
                code: "origin_not_allowed",
                detail:
                    "this Origin is neither in POLLER_ALLOW_ORIGINS nor the address in Host: add "
                    + "it to POLLER_ALLOW_ORIGINS, or let a client that is no browser send no Origin"
            )
        }
        return nil
    }

    private func isAllowed(_ origin: String, _ head: HTTPRequestHead) -> Bool {
        if allowed.contains(origin) { return true }
        guard let origin = WebOrigin(origin), let host = head.headers.first(name: "host") else {
            return false
        }
        return origin.isServed(at: host, isSecure: nil)
    }
}
