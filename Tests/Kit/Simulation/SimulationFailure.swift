/// A seed on which a store does otherwise than the model says, with the shortest way there.
package struct SimulationFailure: Hashable, Sendable, CustomStringConvertible {
    /// Makes the same steps again.
    package let seed: UInt64
    /// How many steps the seed was played for.
    package let steps: Int
    /// What differed.
    package let message: String
    /// What happens on the shortest way to a difference, one line each.
    package let trace: [String]

    package var description: String {
        "seed \(seed), \(steps) steps: \(message)\n  " + trace.joined(separator: "\n  ")
    }
}
