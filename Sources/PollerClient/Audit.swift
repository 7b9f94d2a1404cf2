import NIOHTTP1
public import PollerWire

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Returns a page of recorded changes with their authors, newest first.
    ///
    /// It may be empty and still have a next page.
    ///
    /// - `by`: only by this key, by its name or id.
    /// - `action`: only of this operation, such as `pauseLane`.
    /// - `target`: only of the watch, endpoint, lane, key … with this id.
    /// - `account`: only of this account.
    /// - `since`, `until`: only from `since` on, and before `until`.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
    public func changes(
        by key: String? = nil,
        action: String? = nil,
        target: String? = nil,
        account: String? = nil,
        since: Date? = nil,
        until: Date? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<AuditEntry> {
        let query: [(String, String?)] = [
            ("by", key), ("action", action), ("target", target), ("account", account),
            ("since", since.map { Time($0).description }),
            ("until", until.map { Time($0).description }), ("limit", String(limit)),
            ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/audit", query: query))
    }
}
