import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient

/// Lists in the order of creation, the newest first.
///
/// Each partition keeps its items in that order (lib_created_index.lua), open and closed ones apart. A page reads as
/// many entries as it shows from each partition, merges them, and reads the records of those it shows. So its cost does
/// not depend on the size of the store. A list of some accounts or one lane skips the entries of others, most of them
/// without reading a record. A call skips a limited number, so a page may be short without being the last.
extension RedisItems {
    /// The budget of one call for the entries that it skips (newest.lua): some milliseconds of Redis.
    private static var skipBudget: Int { 5000 }

    /// Returns a page of the elements that `read` makes of items after a position.
    func newest<Element: Sendable>(
        _ selection: NewestSelection,
        after start: CreationPosition,
        limit: Int,
        batch: Int,
        _ read: ([MergedItem<CreationPosition>]) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> ListPage<Element> {
        try await redis.retryingOnSplit { () throws(StoreError) in
            let page = try await merged(
                after: start,
                limit: limit,
                batch: batch,
                isNarrowed: !selection.accounts.isAll,
                slice: { count, position throws(StoreError) in
                    try await entries(selection, count, after: position)
                },
                read: read
            )
            return ListPage(items: page.items, next: page.next?.cursor, looked: page.looked)
        }
    }

    private func entries(
        _ selection: NewestSelection,
        _ count: Int,
        after start: CreationPosition
    ) async throws(StoreError) -> (items: [MergedItem<CreationPosition>], rest: CreationPosition?) {
        let arguments: [RedisArgument] = [
            .string(selection.indexes.map(\.rawValue).joined()), RedisArgument(count),
            .string(start.entry), RedisArgument(Self.skipBudget),
            .string(selection.accounts.scriptArgument), .string(selection.lane ?? ""),
            selection.entriesHaveAccounts ? "1" : "",
        ]
        let partitionsToRead = partitionsToRead(of: selection)
        let replies = try await redis.each(partitionsToRead) { partition in
            (partition, .newest, arguments)
        }
        var items: [MergedItem<CreationPosition>] = []
        var ends: [CreationPosition] = []
        for (partition, reply) in zip(partitionsToRead, replies) {
            for kind in reply.array ?? [] {
                let texts = (kind.array ?? []).compactMap(\.string)
                guard let end = texts.first else {
                    throw .corrupt("newest.lua answered \(reply)")
                }
                if let end = CreationPosition(end) { ends.append(end) }
                for position in texts.dropFirst().compactMap({ CreationPosition($0) }) {
                    items.append(MergedItem(partition: partition, position: position))
                }
            }
        }
        return merge(items, ends: ends, count)
    }

    /// Returns the partitions that may have matches.
    ///
    /// A watch is in the partition of its lane, and an account has a lane for each kind.
    private func partitionsToRead(of selection: NewestSelection) -> [Int] {
        if let lane = selection.lane { return [redis.keys.partition(of: lane)] }
        guard selection.entriesHaveAccounts, let names = selection.accounts.names else {
            return Array(0..<redis.keys.partitions)
        }
        let kinds = SourceKind.allCases.filter(\.isOfWatches)
        let lanes = names.flatMap { name in
            kinds.map { LaneID(account: AccountID(unchecked: name), kind: $0).description }
        }
        return Set(lanes.map(redis.keys.partition(of:))).sorted()
    }
}

/// The items that a list in the order of creation includes.
struct NewestSelection {
    /// The indexes to read: ``KeyKind/openCreated``, ``KeyKind/closedCreated`` or both.
    let indexes: [KeyKind]
    var accounts = AccountSet.all
    /// The only lane, if any.
    var lane: String?
    /// Whether the digest in an entry is that of the item's account, as in the indexes of watches.
    var entriesHaveAccounts = true
}

/// An entry of the index by creation: 13 digits of ms, a digest of two characters, and the item's id
/// (lib_created_index.lua).
struct CreationPosition: ListPosition, Hashable {
    private static let headLength = 15

    static let start = CreationPosition()

    /// The entry; empty at the start of a list.
    let entry: String

    var id: ItemID { ItemID(unchecked: String(entry.dropFirst(Self.headLength))) }
    /// The creation time of the item in its entry.
    ///
    /// If the record has another time, the item was started again after the entry was read, and has a new entry.
    var createdAt: Timestamp? { Timestamp(stored: entry.prefix(13)) }

    private init() { entry = "" }

    /// Creates the position of an entry; `nil` if it is not valid.
    init?(_ entry: String) {
        let bytes = entry.utf8
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard bytes.count > Self.headLength, bytes.count <= 128,
            bytes.prefix(13).allSatisfy(digits.contains)
        else { return nil }
        self.entry = entry
    }

    /// Creates the position before all entries created at a time or earlier.
    init(upTo instant: Timestamp) {
        let digits = String(max(instant.ms, 0) + 1)
        let zeros = String(repeating: "0", count: max(13 - digits.utf8.count, 0))
        // The digest and the id sort after spaces.
        entry = zeros + digits + "   "
    }

    /// The cursor of the position.
    ///
    /// *Shape*: base64url of `t|entry`.
    var cursor: String { Base64URL.encode(Packed.join(["t", entry]).utf8) }

    /// Reads the entry of a cursor; `nil` for another kind of cursor.
    init?(cursor: String) {
        let parts = Packed.split(String(decoding: Base64URL.decode(cursor) ?? [], as: UTF8.self))
        guard parts.count == 2, parts[0] == "t" else { return nil }
        self.init(parts[1])
    }

    /// Sorts the newest first; entries are ASCII, which sorts as bytes.
    static func < (one: Self, other: Self) -> Bool { one.entry > other.entry }
}
