import Synchronization

/// Random numbers for the jitter of waits, shared by all polls of a process.
///
/// `SystemRandomNumberGenerator` makes a system call for each number. This is SplitMix64, with an atomic counter as its
/// state, so callers share it without a lock. Its numbers are predictable: never use it for keys, tokens or IDs.
/// *Source*: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
final class JitterSource: Sendable {
    private let state: Atomic<UInt64>

    /// Creates a source from a seed; equal seeds give equal numbers.
    init(seed: UInt64) {
        state = Atomic(seed)
    }

    /// A generator that draws from the source.
    struct Generator: RandomNumberGenerator {
        fileprivate let source: JitterSource

        mutating func next() -> UInt64 { source.next() }
    }

    /// A generator that draws from this source.
    var generator: Generator { Generator(source: self) }

    private func next() -> UInt64 {
        var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
