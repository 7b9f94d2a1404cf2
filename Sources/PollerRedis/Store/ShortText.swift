import RedisClient

/// A text of a watch that is short enough for the watch's own record.
///
/// *Problem.* A separate key for the notify URLs, the metadata and the client secret of a watch takes Redis 90 bytes
/// when it is empty, and 300 if one of them is longer than a compact hash allows. That is more than the rest of a
/// waiting watch.
///
/// *Approach.* A text of at most ``bytesMax`` bytes is a field of the record (`ItemField`), a longer one is among the
/// long values. It is shortened first: a URL and the JSON of metadata hold no control characters, so these can
/// represent common parts (``fragments``). Scripts expand it with one `gsub` (lib_texts.lua). No script shortens a
/// text, because an unshortened one is valid, too.
///
/// *Shape*: the text, in which each byte of a fragment represents the fragment. In a script argument, ``mark`` precedes
/// it; a value without the mark belongs to the long ones.
///
/// *Rejected*: deflate (a script cannot unpack it, and scripts publish events with metadata); a table of the URLs that
/// many watches share, with their numbers in the watches (30 bytes less; the last use of each number would have to be
/// tracked, and every new partition of a split would need its part of the table).
enum ShortText {
    /// The longest value that Redis keeps compact in a hash (`hash-max-listpack-value`).
    static let bytesMax = 64
    /// The first byte of a script argument that belongs into the record.
    static let mark: UInt8 = 1

    /// The fragment that each byte represents.
    ///
    /// The table is part of the stored format, so no entry ever changes. Line feeds, which separate URLs, and the other
    /// whitespace of JSON represent themselves.
    static let fragments: [UInt8: String] = [
        1: "https://", 2: "https://www.", 3: "https://api.", 4: "https://shop.", 5: "http://",
        6: "mailto:", 7: "redis+stream:", 8: ".com/", 11: ".com", 12: "/api/", 14: "/payments",
        15: "/webhooks", 16: "/webhook", 17: "/hooks/", 18: "/stripe", 19: "{\"", 20: "\":\"",
        21: "\",\"", 22: "\"}", 23: "{\"order\":\"", 24: "\",\"order\":\"", 25: "{\"order_id\":\"",
        26: "{\"customer\":\"", 27: "\",\"customer\":\"", 28: "\",\"email\":\"",
        29: "\",\"name\":\"", 30: "_id\":\"", 31: "@gmail.com\"}",
    ]

    /// The fragments, longest first, so that the longest match is used.
    private static let byLength = fragments.map { (byte: $0.key, bytes: Array($0.value.utf8)) }
        .sorted { $0.bytes.count > $1.bytes.count }

    /// Returns the short form of a text; `nil` if it has a byte that represents a fragment.
    static func bytes(of text: String) -> [UInt8]? {
        var rest = Array(text.utf8)[...]
        var bytes: [UInt8] = []
        while let first = rest.first {
            if fragments[first] != nil { return nil }
            let found = byLength.first { rest.starts(with: $0.bytes) }
            bytes.append(found?.byte ?? first)
            rest = rest.dropFirst(found?.bytes.count ?? 1)
        }
        return bytes
    }

    /// Returns the full text.
    static func text(of bytes: [UInt8]) -> String {
        let whole = bytes.flatMap { byte in fragments[byte].map { Array($0.utf8) } ?? [byte] }
        return String(decoding: whole, as: UTF8.self)
    }

    /// Returns a text as an argument for scripts that store it.
    static func argument(_ text: String) -> RedisArgument {
        // No fragment is longer than the first one, so a text longer than this many cannot fit.
        guard !text.isEmpty,
            text.utf8.count <= bytesMax * (byLength.first?.bytes.count ?? 1),
            let short = bytes(of: text), short.count <= bytesMax
        else { return .string(text) }
        return .bytes([mark] + short)
    }

    /// ``fragments`` as a table of Lua.
    static var luaTable: String {
        let entries = fragments.sorted { $0.key < $1.key }.map { "['\\\($0.key)'] = '\($0.value)'" }
        return "{ \(entries.joined(separator: ", ")) }"
    }
}
