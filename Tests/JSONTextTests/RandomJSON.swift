/// Generates random JSON objects and mutates them.
enum RandomJSON {
    /// Returns an object with some of the names that the tests read, each once.
    static func object(using generator: inout SplitMix) -> String {
        let names = [
            "id", "status", "usage", "type", "object", "created", "livemode", "x", "é\\n",
            "receiver", "next_action", "amount_received", "last_payment_error",
        ]
        .shuffled(using: &generator)
        .prefix(Int.random(in: 0...13, using: &generator))
        let members = names.map { name in
            let value =
                ["id", "status"].contains(name) && !Bool.random(using: &generator)
                ? string(using: &generator) : value(depth: 0, using: &generator)
            return "\(space(&generator))\"\(name)\"\(space(&generator)):\(value)"
        }
        return "\(space(&generator)){\(members.joined(separator: ","))}\(space(&generator))"
    }

    /// Changes, removes or inserts up to three bytes.
    static func mutate(_ bytes: inout [UInt8], using generator: inout SplitMix) {
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            let byte =
                Array("{}[]\",:\\0129.eE+-tfnu \u{1}".utf8)
                .randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = byte
            case 1: bytes.remove(at: place)
            default: bytes.insert(byte, at: place)
            }
        }
    }

    /// Whether a text contains features on which the grammar of RFC 8259 and libraries differ:
    /// surrogates, exponents, and two members of one name.
    static func isOutsideGrammar(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains("\\u") || text.contains("e") || text.contains("E")
    }

    /// Whether a comma precedes a closing bracket.
    static func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self)
        return text.contains(",}") || text.contains(",]")
    }

    private static func value(depth: Int, using generator: inout SplitMix) -> String {
        switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &generator) {
        case 0: return "null"
        case 1: return Bool.random(using: &generator) ? "true" : "false"
        case 2: return String(Int.random(in: -5...2_000_000_000, using: &generator))
        case 3: return "\(Int.random(in: 0...9, using: &generator)).5e-3"
        case 4, 5: return string(using: &generator)
        case 6:
            let count = Int.random(in: 0...3, using: &generator)
            let all = (0..<count).map { _ in value(depth: depth + 1, using: &generator) }
            return "[\(all.joined(separator: ","))\(space(&generator))]"
        default:
            let count = Int.random(in: 0...3, using: &generator)
            let all = (0..<count).map { number in
                "\"id\(number)\":\(value(depth: depth + 1, using: &generator))"
            }
            return "{\(space(&generator))\(all.joined(separator: ","))}"
        }
    }

    private static func string(using generator: inout SplitMix) -> String {
        let parts = [
            "a", "src_1", "\\n", "\\\"", "\\u0041", "\\ud83d\\ude00", "é", "😀", " ", "\\/",
        ]
        let count = Int.random(in: 0...4, using: &generator)
        let text = (0..<count).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
        return "\"\(text)\""
    }

    private static func space(_ generator: inout SplitMix) -> String {
        ["", "", "", " ", "\n\t", "\r\n"].randomElement(using: &generator) ?? ""
    }
}

/// Steele, Lea and Flood's SplitMix64: small, and the same on every machine.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
