import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Reads what is true of an order, which watches have named.
    ///
    /// - `account`: the account at the upstream; nil is the server's `default`.
    public func order(_ order: String, account: String? = nil) async throws -> Received<Order> {
        let path = "/v1/orders/\(Self.percentEncoded(order))"
        return try await send(.GET, path, query: [("account", account)]).received("an order")
    }

    /// A page of an account's orders, the newest first.
    ///
    /// - `state`: only those of which this is true: `paid`, `awaiting_customer`, …
    /// - `isPaidTwice`: only orders that several attempts have paid.
    /// - `limit`: 1–100.
    /// - `cursor`: ``Page/next`` of the page before.
    public func orders(
        state: String? = nil,
        account: String? = nil,
        isPaidTwice: Bool = false,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Order> {
        let query: [(String, String?)] = [
            ("state", state), ("account", account), ("paid_twice", isPaidTwice ? "true" : nil),
            ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/orders", query: query))
    }
}
