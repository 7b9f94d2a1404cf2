/// A seed on which a store does otherwise than the model says, with what happened before.
package struct SimulationFailure: Error, CustomStringConvertible {
    /// Makes the same trace again.
    package let seed: UInt64
    /// What differed.
    package let message: String
    /// The last steps.
    package let trace: ArraySlice<String>

    package var description: String {
        "seed \(seed): \(message)\n  " + trace.joined(separator: "\n  ")
    }
}
