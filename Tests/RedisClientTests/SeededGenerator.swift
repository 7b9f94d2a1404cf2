import Foundation

/// SplitMix64: reproducible randomness for tests.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    /// The seed of a random test: `TEST_SEED` to repeat a failure, else another one each time.
    static func newSeed() -> UInt64 {
        ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 1...999_999_999)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
