import Logging
import PollerIdentity
import PollerQueue
import RedisClient

/// One item at one moment, as a script reads it (lib_read_item.lua).
struct StoredItem<Item: Sendable> {
    let item: Item
    let fields: ItemFields
    let long: [LongField: String]
    /// The newest event in its logged form; empty before the first event.
    let newestEvent: [UInt8]
    /// The due time; `nil` while the item is leased or closed.
    let due: Timestamp?
    /// When the item was set aside; `nil` if it is not.
    let setAsideAt: Timestamp?
}

/// A reader of the items of a queue.
protocol RedisItems: Sendable {
    /// The form of the items.
    associatedtype Record: ItemRecord

    var redis: RedisPartitions { get }
}

extension RedisItems {
    /// The number of items read by one call: about a millisecond of Redis.
    private static var readMax: Int { 128 }

    package func partition(of lane: LaneID) -> Int {
        redis.keys.partition(of: lane.description)
    }

    /// Reads an item; `nil` if these accounts have no such item.
    func readItem(
        _ id: ItemID,
        partition: Int,
        of accounts: AccountSet = .all
    ) async throws(StoreError) -> StoredItem<Record.Item>? {
        let reply = try await redis.run(
            .read,
            partition: partition,
            [.string(accounts.scriptArgument), .string(id.description)]
        )
        return try reply.array?.first.flatMap { value throws(StoreError) in
            try parseItem(id, value)
        }
    }

    /// Reads an item of a lane; `nil` if there is none.
    func readItem(
        _ id: ItemID,
        in lane: LaneID
    ) async throws(StoreError) -> StoredItem<Record.Item>? {
        let reply = try await redis.run(
            .read,
            of: lane,
            [.string(AccountSet.all.scriptArgument), .string(id.description)]
        )
        return try reply.array?.first.flatMap { value throws(StoreError) in
            try parseItem(id, value)
        }
    }

    /// Reads items of a partition, in their order; `nil` for those that are gone.
    ///
    /// One record of another release must not hide all the others, so an item that is not understood is also `nil`.
    func readItems(
        _ ids: [ItemID],
        partition: Int
    ) async throws(StoreError) -> [StoredItem<Record.Item>?] {
        var items: [StoredItem<Record.Item>?] = []
        for start in stride(from: 0, to: ids.count, by: Self.readMax) {
            let part = ids[start..<min(start + Self.readMax, ids.count)]
            let reply = try await redis.run(
                .read,
                partition: partition,
                [.string(AccountSet.all.scriptArgument)] + part.map { .string($0.description) }
            )
            guard let found = reply.array, found.count == part.count else {
                throw .corrupt("read.lua answered \(reply)")
            }
            for (id, value) in zip(part, found) {
                do throws(StoreError) {
                    items.append(try parseItem(id, value))
                } catch {
                    redis.logger.error("record not understood", metadata: ["error": "\(error)"])
                    items.append(nil)
                }
            }
        }
        return items
    }

    /// Parses an item in the reply of a script; `nil` if there is none.
    func parseItem(
        _ id: ItemID,
        _ value: RedisValue
    ) throws(StoreError) -> StoredItem<Record.Item>? {
        guard let parts = value.array, parts.count == 5 else { return nil }
        let (due, setAsideAt) = (parts[3].time, parts[4].time)
        let newestEvent = parts[2].bytes ?? []
        let hash = parts[0].array ?? []
        var long: [LongField: String] = [:]
        let pairs = parts[1].array ?? []
        for index in stride(from: 0, to: pairs.count - 1, by: 2) {
            guard let field = pairs[index].string.flatMap(LongField.init(rawValue:)) else {
                continue
            }
            long[field] = pairs[index + 1].string ?? ""
        }
        var fields = ItemFields(
            id: id.description,
            lane: "",
            // Joined in the same way as in claim.lua.
            privateValue: (long[.private] ?? "") + (long[.charge].map { "\n" + $0 } ?? ""),
            masterKeys: redis.masterKeys
        )
        for index in stride(from: 0, to: hash.count - 1, by: 2) {
            guard let name = hash[index].bytes, let value = hash[index + 1].bytes else { continue }
            fields.add(name[...], value[...])
        }
        for (field, short) in [(LongField.notify, fields.notify), (.metadata, fields.metadata)] {
            if let short { long[field] = ShortText.text(of: Array(short)) }
        }
        guard let item = Record.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        return StoredItem(
            item: item,
            fields: fields,
            long: long,
            newestEvent: newestEvent,
            due: due,
            setAsideAt: setAsideAt
        )
    }
}

extension AccountSet {
    /// The accounts in the form of scripts: each between spaces, or empty for all.
    var scriptArgument: String { names.map { " \($0.joined(separator: " ")) " } ?? "" }
}
