import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Reads the state of an order that watches have named.
    ///
    /// - `account`: the account at the upstream, or `nil` for the server's `default`.
    public func order(_ order: String, account: String? = nil) async throws -> Received<Order> {
        let path = "/v1/orders/\(Self.percentEncoded(order))"
        return try await send(.GET, path, query: [("account", account)]).received("an order")
    }

    /// Returns a page of an account's orders, the newest first.
    ///
    /// - `state`: only orders in this payment state: `paid`, `awaiting_customer`, …
    /// - `isPaidTwice`: only orders that several attempts have paid.
    /// - `limit`: 1–100.
    /// - `cursor`: ``Page/next`` of the previous page.
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
