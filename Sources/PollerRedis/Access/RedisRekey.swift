import PollerIdentity
package import PollerOperations
package import PollerQueue
package import RedisClient

/// Re-encrypts plaintext values, and values not encrypted by the first key, a page at a time.
///
/// A value is replaced only if it has not changed since it was read (reencrypt.lua), so the cluster can keep running. A
/// crash leaves some values re-encrypted and others unchanged. Both can be read, and the next pass skips those that are
/// done. SCAN returns every key that exists from its start to its end.
///
/// No step runs next to a ``RedisRepartition``: SCAN may miss a watch that moves, whose copy has the old encryption.
package struct RedisRekey: Sendable {
    /// The number of keys scanned by one step: some milliseconds of Redis, spread over several commands.
    private static let page = 500

    private let client: RedisClient
    private let layout: StoreLayout
    private let masterKeys: MasterKeys

    /// Creates a pass through the store of a cluster.
    package init(client: RedisClient, layout: StoreLayout, masterKeys: MasterKeys) {
        self.client = client
        self.layout = layout
        self.masterKeys = masterKeys
    }

    /// The records with secrets.
    package enum Part: String, CaseIterable, Sendable, CustomStringConvertible {
        case endpoints
        case watches

        package var description: String { rawValue }
    }

    /// The results of a step.
    package struct Page: Sendable {
        package internal(set) var looked = 0
        package internal(set) var sealed = 0
        package internal(set) var unopened: [SealError] = []
        package internal(set) var next: String?
        var changes: [Change] = []
    }

    /// A re-encrypted value.
    struct Change {
        let key: String
        let field: String
        let old: [UInt8]
        let new: [UInt8]
    }

    /// Continues after a cursor: `<partition>.<SCAN's cursor>`.
    package func step(_ part: Part, after cursor: String?) async throws(StoreError) -> Page {
        let parts = (cursor ?? "0.0").split(separator: ".").map(String.init)
        guard parts.count == 2, let partition = Int(count: parts[0]),
            (0..<layout.partitions).contains(partition)
        else { throw .unknownCursor }
        let lock = RedisArgument.string("\(layout.namespace):repartition")
        if try await client.execute(RedisCommand("EXISTS", [lock])).int == 1 {
            throw .unavailable(
                "pollerd repartition is running, or has just ended: wait for its end, "
                    + "then run this again"
            )
        }
        switch part {
        case .endpoints: return try await endpoints(parts[1])
        case .watches: return try await watches(partition, parts[1])
        }
    }

    private func endpoints(_ cursor: String) async throws(StoreError) -> Page {
        let key = layout.deliveryKeys.endpoints
        let (found, next) = try await scan(
            RedisCommand(
                "HSCAN",
                [.string(key), .string(cursor), "COUNT", RedisArgument(Self.page)]
            ),
            key: key
        )
        var page = Page()
        page.next = next.map { "0.\($0)" }
        for index in stride(from: 0, to: found.count - 1, by: 2) {
            let (id, value) = (found[index].string ?? "", found[index + 1].string ?? "")
            page.looked += 1
            do throws(SealError) {
                if let new = try EndpointRecord.resealed(id, value, by: masterKeys) {
                    page.changes.append(
                        Change(key: key, field: id, old: Array(value.utf8), new: Array(new.utf8))
                    )
                }
            } catch {
                page.unopened.append(error)
            }
        }
        return try await applied(page)
    }

    /// Re-encrypts the watches of a step.
    ///
    /// A single server is scanned once; in a Redis Cluster, the node of each partition is scanned for its items.
    private func watches(_ partition: Int, _ cursor: String) async throws(StoreError) -> Page {
        let keys = layout.watchKeys
        let pattern = keys.items(in: client.isCluster ? partition : nil)
        let (found, next) = try await scan(
            RedisCommand(
                "SCAN",
                [.string(cursor), "MATCH", .string(pattern), "COUNT", RedisArgument(Self.page)]
            ),
            key: keys.meta(partition)
        )
        var page = Page()
        page.next = next.map { "\(partition).\($0)" }
        if next == nil, client.isCluster, partition + 1 < layout.partitions {
            page.next = "\(partition + 1).0"
        }
        let items = found.compactMap { $0.string.flatMap(keys.item(ofKey:)) }
        if items.isEmpty { return page }
        let replies = try await client.execute(
            items.flatMap { item in
                [
                    RedisCommand(
                        "HMGET",
                        [.string(item.key), .string(Self.lane), .string(Self.learned)]
                    ),
                    RedisCommand("HGET", [.string(item.long), .string(Self.given)]),
                ]
            }
        )
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        for (index, item) in items.enumerated() {
            page.looked += 1
            guard let fields = replies[2 * index].array, fields.count == 2 else { continue }
            guard
                let account = fields[0].string
                    .flatMap({ LaneID(unchecked: $0).accountAndKind?.account })
            else {
                // Without its account a secret cannot be decrypted. A watch that was just deleted has none.
                if fields[1].bytes != nil || replies[2 * index + 1].string != nil {
                    let unknown = AccountID(unchecked: "")
                    page.unopened.append(.unreadable(.learned(item.id, unknown)))
                }
                continue
            }
            if let stored = fields[1].bytes, !masterKeys.isCurrent(bytes: stored) {
                let location = SealedLocation.learned(item.id, account)
                do throws(SealError) {
                    let new = masterKeys.seal(
                        bytes: try masterKeys.open(bytes: stored, at: location),
                        at: location
                    )
                    page.changes.append(
                        Change(key: item.key, field: Self.learned, old: stored, new: new)
                    )
                } catch {
                    page.unopened.append(error)
                }
            }
            if let stored = replies[2 * index + 1].string, !masterKeys.isCurrent(stored) {
                let location = SealedLocation.given(item.id, account)
                do throws(SealError) {
                    let new = masterKeys.seal(
                        try masterKeys.open(stored, at: location),
                        at: location
                    )
                    page.changes.append(
                        Change(
                            key: item.long,
                            field: Self.given,
                            old: Array(stored.utf8),
                            new: Array(new.utf8)
                        )
                    )
                } catch {
                    page.unopened.append(error)
                }
            }
        }
        return try await applied(page)
    }

    /// Applies the changes of a page.
    ///
    /// A value that was changed meanwhile is already encrypted by its writer, and is left.
    private func applied(_ page: Page) async throws(StoreError) -> Page {
        var page = page
        for change in page.changes {
            let replaced = try await client.run(
                .reencrypt,
                [change.key],
                [.string(change.field), .bytes(change.old), .bytes(change.new)]
            )
            page.sealed += replaced.int ?? 0
        }
        page.changes = []
        return page
    }

    private static let lane = String(ItemField.lane.rawValue)
    private static let learned = String(ItemField.secret.rawValue)
    private static let given = LongField.private.rawValue

    private func scan(
        _ command: RedisCommand,
        key: String
    ) async throws(StoreError) -> (found: [RedisValue], next: String?) {
        let reply = try await client.execute(command, key: key)
        guard let parts = reply.array, parts.count == 2, let next = parts[0].string else {
            throw StoreError(.protocolError("\(command.name) answered \(reply)"))
        }
        return (parts[1].array ?? [], next == "0" ? nil : next)
    }
}
