import Poller
import RedisClient

/// A text of a watch that is short enough to stand in the watch's own record.
///
/// *Problem.* A key of its own for the notify URLs, the metadata and the client secret of a watch takes Redis 90
/// bytes before there is anything in it, and 300 where one of them is longer than a compact hash allows: more than
/// the rest of a watch that waits.
///
/// *Approach.* A text of at most ``bytesMax`` bytes is a field of the record (`ItemField`), a longer one is among
/// the long values. It is shortened first: a URL and the JSON of metadata hold no control
/// characters, so these are free to stand for what nearly all of them have in common (``fragments``). Scripts read it
/// with one `gsub` (texts.lua); none of them writes one, because a text without such characters is one, too.
///
/// *Shape*: the text, where each byte that is one of the fragments' stands for the fragment. Handed to a script,
/// ``mark`` stands before it: a value without it belongs among the long ones.
///
/// *Rejected*: deflate (a script cannot undo it, and events are told with metadata by scripts); a table of the URLs
/// that many watches have, with their numbers in the watches (30 bytes less; somebody would have to know when the last
/// watch of a number is gone, and every partition that is split would have to be given its part).
enum ShortText {
    /// What Redis keeps compact in a hash (`hash-max-listpack-value`).
    static let bytesMax = 64
    /// The first byte of a value that is handed to a script to be put into the record.
    static let mark: UInt8 = 1

    /// What a byte stands for.
    ///
    /// It is part of the form of what is stored: none of them ever changes. Line feeds, which stand between URLs, and
    /// the other spaces of JSON are themselves.
    static let fragments: [UInt8: String] = [
        1: "https://", 2: "https://www.", 3: "https://api.", 4: "https://shop.", 5: "http://",
        6: "mailto:", 7: "redis+stream:", 8: ".com/", 11: ".com", 12: "/api/", 14: "/payments",
        15: "/webhooks", 16: "/webhook", 17: "/hooks/", 18: "/stripe", 19: "{\"", 20: "\":\"",
        21: "\",\"", 22: "\"}", 23: "{\"order\":\"", 24: "\",\"order\":\"", 25: "{\"order_id\":\"",
        26: "{\"customer\":\"", 27: "\",\"customer\":\"", 28: "\",\"email\":\"",
        29: "\",\"name\":\"", 30: "_id\":\"", 31: "@gmail.com\"}",
    ]

    /// The longest first, so that what stands at a place is the longest that may.
    private static let byLength = fragments.map { (byte: $0.key, bytes: Array($0.value.utf8)) }
        .sorted { $0.bytes.count > $1.bytes.count }

    /// The text made short; nil where it has a byte that would be read as a fragment.
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

    /// The text again.
    static func text(of bytes: [UInt8]) -> String {
        let whole = bytes.flatMap { byte in fragments[byte].map { Array($0.utf8) } ?? [byte] }
        return String(decoding: whole, as: UTF8.self)
    }

    /// A text as it is handed to the scripts that keep one.
    static func argument(_ text: String) -> RedisArgument {
        // No fragment is longer than the first of these, so what is longer than so many of them cannot fit.
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
