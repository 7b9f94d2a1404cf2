/// Generates random JSON objects and mutates them.
enum RandomJSON {
    /// Returns an object with some of the names that the tests read, each once.
    static func object(using chance: inout SplitMix) -> String {
        let names = [
            "id", "status", "usage", "type", "object", "created", "livemode", "x", "é\\n",
            "receiver", "next_action", "amount_received", "last_payment_error",
        ]
        .shuffled(using: &chance)
        .prefix(Int.random(in: 0...13, using: &chance))
        let members = names.map { name in
            let value =
                ["id", "status"].contains(name) && !Bool.random(using: &chance)
                ? string(using: &chance) : value(depth: 0, using: &chance)
            return "\(space(&chance))\"\(name)\"\(space(&chance)):\(value)"
        }
        return "\(space(&chance)){\(members.joined(separator: ","))}\(space(&chance))"
    }

    /// Changes, removes or inserts up to three bytes.
    static func mutate(_ bytes: inout [UInt8], using chance: inout SplitMix) {
        for _ in 0..<Int.random(in: 1...3, using: &chance) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &chance)
            let byte =
                Array("{}[]\",:\\0129.eE+-tfnu \u{1}".utf8)
                .randomElement(using: &chance) ?? 0
            switch Int.random(in: 0..<3, using: &chance) {
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

    private static func value(depth: Int, using chance: inout SplitMix) -> String {
        switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &chance) {
        case 0: return "null"
        case 1: return Bool.random(using: &chance) ? "true" : "false"
        case 2: return String(Int.random(in: -5...2_000_000_000, using: &chance))
        case 3: return "\(Int.random(in: 0...9, using: &chance)).5e-3"
        case 4, 5: return string(using: &chance)
        case 6:
            let count = Int.random(in: 0...3, using: &chance)
            let all = (0..<count).map { _ in value(depth: depth + 1, using: &chance) }
            return "[\(all.joined(separator: ","))\(space(&chance))]"
        default:
            let count = Int.random(in: 0...3, using: &chance)
            let all = (0..<count).map { number in
                "\"id\(number)\":\(value(depth: depth + 1, using: &chance))"
            }
            return "{\(space(&chance))\(all.joined(separator: ","))}"
        }
    }

    private static func string(using chance: inout SplitMix) -> String {
        let parts = [
            "a", "src_1", "\\n", "\\\"", "\\u0041", "\\ud83d\\ude00", "é", "😀", " ", "\\/",
        ]
        let count = Int.random(in: 0...4, using: &chance)
        let text = (0..<count).map { _ in parts.randomElement(using: &chance) ?? "" }.joined()
        return "\"\(text)\""
    }

    private static func space(_ chance: inout SplitMix) -> String {
        ["", "", "", " ", "\n\t", "\r\n"].randomElement(using: &chance) ?? ""
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
