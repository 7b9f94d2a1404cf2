/// Chance that a test can repeat: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom
/// Number Generators", 2014).
///
/// A random test names the seed in its failure, so that the same run can be had again.
package struct SeededGenerator: RandomNumberGenerator, Sendable, CustomStringConvertible {
    /// What the generator was made from.
    package let seed: UInt64
    private var state: UInt64

    /// A generator that always yields the same for one seed.
    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The seed, as a failing test prints it.
    package var description: String { "seed \(seed)" }
}
