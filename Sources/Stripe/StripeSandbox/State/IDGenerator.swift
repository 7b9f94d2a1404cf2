/// Makes ids and secrets in Stripe's form; one seed gives one sequence.
struct IDGenerator {
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8
    )

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// The prefix and `length` letters and digits.
    mutating func make(_ prefix: String, length: Int = 24) -> String {
        var bytes = Array(prefix.utf8)
        bytes.reserveCapacity(bytes.count + length)
        var left = length
        while left > 0 {
            // 62^10 < 2^64: ten characters of every draw are evenly spread, as far as ids care.
            var draw = nextWord()
            for _ in 0..<min(left, 10) {
                bytes.append(Self.alphabet[Int(draw % 62)])
                draw /= 62
            }
            left -= min(left, 10)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    private mutating func nextWord() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
