import Foundation
import PollerTesting
import RedisClient

/// Numbers that valid records never hold, and texts in place of numbers.
enum HostileNumbers {
    static let texts = [
        "-9223372036854775808", "9223372036854775807", "-1", "0", "9007199254740991",
        "9007199254740992", "9007199254740993", "-9007199254740992", "9223372036854775808",
        "18446744073709551615", "1e308", "-1e308", "1e400", "nan", "inf", "-inf", "", "x",
    ]

    /// Returns the ranges of decimal numbers in a text.
    static func numbers(in bytes: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start: Int?
        for (index, byte) in bytes.enumerated() {
            if (0x30...0x39).contains(byte) {
                start = start ?? index
            } else if let begin = start {
                ranges.append(begin..<index)
                start = nil
            }
        }
        if let start { ranges.append(start..<bytes.count) }
        // A minus before a number belongs to it, unless it is the dash in a stream's id.
        return ranges.map { range in
            let hasSign = range.lowerBound == 1 && bytes.first == UInt8(ascii: "-")
            return hasSign ? 0..<range.upperBound : range
        }
    }
}

/// One value stored in Redis, by its place inside a key.
enum StoredPlace: Hashable, CustomStringConvertible {
    case field(key: String, name: [UInt8])
    case score(key: String, member: [UInt8])
    case element(key: String, index: Int)
    case string(key: String)
    case entry(key: String, id: String, field: Int)
    /// The id of a stream's newest entry.
    case entryID(key: String)

    var description: String {
        switch self {
        case .field(let key, let name): "\(key) field \(String(decoding: name, as: UTF8.self))"
        case .score(let key, let member):
            "\(key) score of \(String(decoding: member, as: UTF8.self))"
        case .element(let key, let index): "\(key)[\(index)]"
        case .string(let key): key
        case .entry(let key, let id, let field): "\(key) entry \(id) value \(field)"
        case .entryID(let key): "\(key) id of the newest entry"
        }
    }
}

/// A place and the value that a test writes there.
struct HostileChange: CustomStringConvertible {
    let place: StoredPlace
    let value: [UInt8]

    var description: String {
        "\(place) = \(String(decoding: value.prefix(300), as: UTF8.self).debugDescription)"
    }
}

/// The keys of one namespace, read, changed and restored without knowing their meaning.
///
/// So new keys and fields are covered without a change here.
struct HostileStore {
    let client: RedisClient
    let namespace: String

    /// A copy of every key.
    struct Picture {
        fileprivate let keys: [(name: String, dump: [UInt8], ttlMs: Int)]
    }

    /// Returns the keys, without the test's own clock.
    func keys() async throws -> [String] {
        let all = try await client.send(RedisCommand("KEYS", [.string("\(namespace):*")]))
        return (all.array ?? []).compactMap(\.string).filter {
            !$0.hasPrefix("\(namespace):clock")
        }.sorted()
    }

    func picture() async throws -> Picture {
        let names = try await keys()
        let replies = try await client.pipeline(
            names.flatMap { name in
                [
                    RedisCommand("DUMP", [.string(name)]), RedisCommand("PTTL", [.string(name)]),
                ]
            }
        )
        var copies: [(name: String, dump: [UInt8], ttlMs: Int)] = []
        for (index, name) in names.enumerated() {
            guard let dump = replies[2 * index].bytes else { continue }
            copies.append((name, dump, max(replies[2 * index + 1].int ?? 0, 0)))
        }
        return Picture(keys: copies)
    }

    func restore(_ picture: Picture) async throws {
        let known = Set(picture.keys.map { $0.name })
        let added = try await keys().filter { !known.contains($0) }
        _ = try await client.pipeline(
            added.map { RedisCommand("DEL", [.string($0)]) }
                + picture.keys.map { key in
                    RedisCommand(
                        "RESTORE",
                        [.string(key.name), RedisArgument(key.ttlMs), .bytes(key.dump), "REPLACE"]
                    )
                }
        )
    }

    /// Removes every key.
    func clear() async throws {
        let names = try await keys()
        _ = try await client.pipeline(names.map { RedisCommand("DEL", [.string($0)]) })
    }

    /// Returns every value of every key.
    func places() async throws -> [(place: StoredPlace, value: [UInt8])] {
        let names = try await keys()
        let types = try await client.pipeline(names.map { RedisCommand("TYPE", [.string($0)]) })
        var places: [(StoredPlace, [UInt8])] = []
        for (name, type) in zip(names, types) {
            let key = RedisArgument.string(name)
            switch type.string {
            case "hash":
                let pairs = try await client.send(RedisCommand("HGETALL", [key])).array ?? []
                for index in stride(from: 0, to: pairs.count - 1, by: 2) {
                    let field = pairs[index].bytes ?? []
                    places.append((.field(key: name, name: field), pairs[index + 1].bytes ?? []))
                }
            case "zset":
                let range = RedisCommand("ZRANGE", [key, 0, -1, "WITHSCORES"])
                let pairs = try await client.send(range).array ?? []
                for index in stride(from: 0, to: pairs.count - 1, by: 2) {
                    let member = pairs[index].bytes ?? []
                    places.append((.score(key: name, member: member), pairs[index + 1].bytes ?? []))
                }
            case "list":
                let range = RedisCommand("LRANGE", [key, 0, -1])
                let values = try await client.send(range).array ?? []
                for (index, value) in values.enumerated() {
                    places.append((.element(key: name, index: index), value.bytes ?? []))
                }
            case "string":
                let value = try await client.send(RedisCommand("GET", [key])).bytes ?? []
                places.append((.string(key: name), value))
            case "stream":
                for entry in try await entries(name) {
                    for (index, value) in entry.values.enumerated() where index % 2 == 1 {
                        places.append((.entry(key: name, id: entry.id, field: index), value))
                    }
                }
                places.append((.entryID(key: name), Array("0".utf8)))
            default: break
            }
        }
        return places
    }

    /// Writes another value in a place; returns whether Redis accepts it there.
    func apply(_ change: HostileChange) async throws -> Bool {
        let value = RedisArgument.bytes(change.value)
        let command: RedisCommand
        switch change.place {
        case .field(let key, let name):
            command = RedisCommand("HSET", [.string(key), .bytes(name), value])
        case .score(let key, let member):
            command = RedisCommand("ZADD", [.string(key), value, .bytes(member)])
        case .element(let key, let index):
            command = RedisCommand("LSET", [.string(key), RedisArgument(index), value])
        case .string(let key): command = RedisCommand("SET", [.string(key), value, "KEEPTTL"])
        case .entry(let key, let id, let field):
            return try await rewrite(key) { entries in
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
                entries[index].values[field] = change.value
            }
        case .entryID(let key):
            return try await rewrite(key) { entries in
                guard var last = entries.popLast() else { return }
                last.id = "\(String(decoding: change.value, as: UTF8.self))-18446744073709551615"
                entries.append(last)
            }
        }
        return try await client.pipeline([command]).allSatisfy { $0.error == nil }
    }

    private struct Entry {
        var id: String
        var values: [[UInt8]]
    }

    private func entries(_ key: String) async throws -> [Entry] {
        let range = RedisCommand("XRANGE", [.string(key), "-", "+"])
        return (try await client.send(range).array ?? []).compactMap { entry in
            guard let parts = entry.array, parts.count == 2, let id = parts[0].string else {
                return nil
            }
            return Entry(id: id, values: (parts[1].array ?? []).map { $0.bytes ?? [] })
        }
    }

    private func rewrite(
        _ key: String,
        _ change: (inout [Entry]) -> Void
    ) async throws -> Bool {
        var entries = try await entries(key)
        change(&entries)
        let name = RedisArgument.string(key)
        let replies = try await client.pipeline(
            [RedisCommand("DEL", [name])]
                + entries.map { entry in
                    RedisCommand(
                        "XADD",
                        [name, .string(entry.id)] + entry.values.map { .bytes($0) }
                    )
                } + [RedisCommand("XGROUP", ["CREATE", name, "notifier", "0", "MKSTREAM"])]
        )
        return replies.allSatisfy { $0.error == nil }
    }

    /// Returns the changes of a place: each number replaced by each hostile one, and other bytes damaged.
    static func changes(
        of place: StoredPlace,
        _ value: [UInt8],
        using generator: inout SeededGenerator
    ) -> [HostileChange] {
        let isText =
            String(validating: value, as: UTF8.self) != nil
            && value.allSatisfy { $0 >= 0x20 || $0 == 0x0A }
        guard isText else {
            var changes = [HostileChange(place: place, value: Array(value.dropLast()))]
            for index in value.indices.prefix(16) {
                for byte in [0, 0x7F, 0xFF, UInt8.random(in: .min ... .max, using: &generator)] {
                    var damaged = value
                    damaged[index] = byte
                    changes.append(HostileChange(place: place, value: damaged))
                }
            }
            return changes
        }
        var values = HostileNumbers.texts.map { Array($0.utf8) }
        for range in HostileNumbers.numbers(in: value) where range != 0..<value.count {
            for text in HostileNumbers.texts {
                let before = Array(value[..<range.lowerBound])
                values.append(before + Array(text.utf8) + Array(value[range.upperBound...]))
            }
        }
        return values.map { HostileChange(place: place, value: $0) }
    }
}
