import Foundation
import JSONText
import Logging
package import PollerIdentity
package import PollerOperations
package import PollerQueue
import RedisClient
import SafeNumbers

/// The audit trail in Redis: one stream in partition 0 of the watches.
///
/// *Shape* of an entry: one field, the change as JSON. All accounts share one stream, so a page needs no merging. The
/// pages of callers restricted to accounts skip the entries of other accounts.
package struct RedisAuditTrail: AuditTrail {
    /// The number of entries read at a time, about 200 KB.
    private static let stepMax = 500

    private let redis: RedisPartitions
    private let bounds: AuditBounds

    /// Creates the audit trail of a cluster, which deletes entries beyond `bounds`.
    package init(_ redis: RedisPartitions, bounds: AuditBounds = .standard) {
        self.redis = redis
        self.bounds = bounds
    }

    package func note(_ change: AuditedChange) async throws(StoreError) -> AuditEntry {
        // Not durable: entries lost in a failover are still in the log.
        let reply = try await redis.run(
            .auditTrailAdd,
            partition: 0,
            [
                .string(try Self.json(change)), RedisArgument(bounds.countMax),
                RedisArgument(bounds.ageMax.ms),
            ]
        )
        guard let id = reply.string, let at = Self.time(of: id) else {
            throw .corrupt("audit_trail_add answered nonsense")
        }
        return AuditEntry(id: id, at: at, change: change)
    }

    package func entries(_ query: AuditQuery) async throws(StoreError) -> ListPage<AuditEntry> {
        var found: [AuditEntry] = []
        var position = try Self.end(of: query)
        // An id of a stream is not negative, and no entry is older than 1970.
        let start = query.since.map { String(max($0.ms, 0)) } ?? "-"
        var left = AuditBounds.scanMax
        while left > 0 {
            let step = try await read(from: position, to: start, min(left, Self.stepMax))
            left -= Self.stepMax
            for (id, entry) in step {
                position = "(\(id)"
                if let visible = entry.flatMap(query.visible) { found.append(visible) }
                if found.count == query.limit { return ListPage(items: found, next: id) }
            }
            if step.count < Self.stepMax { return ListPage(items: found, next: nil) }
        }
        return ListPage(items: found, next: String(position.dropFirst()))
    }

    /// Returns where a page begins.
    private static func end(of query: AuditQuery) throws(StoreError) -> String {
        if let cursor = query.cursor {
            guard time(of: cursor) != nil else { throw .unknownCursor }
            return "(\(cursor)"
        }
        // Entries before the time: up to the whole millisecond before it.
        return query.until.map { String(max($0.ms - 1, 0)) } ?? "+"
    }

    private func read(
        from end: String,
        to start: String,
        _ count: Int
    ) async throws(StoreError) -> [(id: String, entry: AuditEntry?)] {
        let command = RedisCommand(
            "XREVRANGE",
            [
                .string(redis.keys.auditTrail), .string(end), .string(start), "COUNT",
                RedisArgument(count),
            ]
        )
        guard let rows = try await redis.client.execute(command).array else {
            throw .corrupt("the audit trail is no stream")
        }
        return rows.compactMap { row in
            guard let parts = row.array, parts.count == 2, let id = parts[0].string else {
                return nil
            }
            let fields = (parts[1].array ?? []).map { $0.string ?? "" }
            let entry = fields.count == 2 ? Self.entry(id, fields[1]) : nil
            // One entry of another release must not hide all the others.
            if entry == nil {
                redis.logger.error("audit entry not understood", metadata: ["entry": "\(id)"])
            }
            return (id, entry)
        }
    }

    /// The stored form; missing values are `nil`.
    private struct Wire: Codable {
        let by: String
        let key: String?
        let role: String?
        let accounts: [String]?
        let system: Bool?
        let address: String?
        let request: String?
        let action: String
        let kind: String
        let id: String
        let name: String?
        let account: String?
        let before: String?
        let after: String?
        let refused: String?
    }

    private static func json(_ change: AuditedChange) throws(StoreError) -> String {
        let wire = Wire(
            by: change.by.name,
            key: change.by.key?.description,
            role: change.by.role?.rawValue,
            accounts: change.by.accounts.names,
            system: change.by.isPerson ? nil : true,
            address: change.address,
            request: change.request,
            action: change.action,
            kind: change.target.kind.rawValue,
            id: change.target.id,
            name: change.target.name,
            account: change.account?.description,
            before: change.before?.description,
            after: change.after?.description,
            refused: change.refused
        )
        return try wire.stored(as: "the change \(change.action)")
    }

    private static func entry(_ id: String, _ text: String) -> AuditEntry? {
        guard let at = time(of: id),
            let wire = try? JSONDecoder().decode(Wire.self, from: Data(text.utf8))
        else { return nil }
        let accounts = wire.accounts.map { names in
            AccountSet.some(Set(names.map(AccountID.init(unchecked:))))
        }
        let change = AuditedChange(
            by: AuditActor(
                name: wire.by,
                key: wire.key.map(KeyID.init(unchecked:)),
                role: wire.role.flatMap(KeyRole.init(rawValue:)),
                accounts: accounts ?? .all,
                isPerson: wire.system != true
            ),
            address: wire.address,
            request: wire.request,
            action: wire.action,
            // A kind of a later release has no name here.
            target: AuditTarget(
                AuditTarget.Kind(rawValue: wire.kind) ?? .store,
                wire.id,
                name: wire.name
            ),
            account: wire.account.map(AccountID.init(unchecked:)),
            before: wire.before.flatMap { RawJSON($0) },
            after: wire.after.flatMap { RawJSON($0) },
            refused: wire.refused
        )
        return AuditEntry(id: id, at: at, change: change)
    }

    /// Returns the time in an entry's id; `nil` if the id is not valid.
    private static func time(of id: String) -> Timestamp? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(decimal: parts[1]) != nil,
            let time = Timestamp(stored: parts[0]), time.ms >= 0
        else {
            return nil
        }
        return time
    }
}
