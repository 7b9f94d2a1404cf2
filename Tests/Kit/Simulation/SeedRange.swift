import Foundation

/// The seeds of a long run, from environment variables.
///
/// `SIMULATION_SEEDS` (how many), `SIMULATION_START` (the first, 0), `SIMULATION_STEPS` (of each seed, 400).
/// `ops/simulate` sets them; the tests that read them are skipped without them.
package struct SeedRange: Hashable, Sendable {
    /// The number of steps of each seed.
    package let steps: Int
    private let start: UInt64
    private let count: UInt64

    /// Reads the variables; throws if one is not a number.
    package init(_ environment: [String: String]) throws {
        func number<Value: FixedWidthInteger>(_ name: String, _ fallback: Value) throws -> Value {
            guard let text = environment[name] else { return fallback }
            guard let value = Value(text), value >= 0 else {
                throw ConformanceFailure(message: "\(name) must be a number, not \(text)")
            }
            return value
        }
        count = try number("SIMULATION_SEEDS", 1)
        start = try number("SIMULATION_START", 0)
        steps = try number("SIMULATION_STEPS", 400)
    }

    /// Plays all seeds up to the first that fails, and prints its progress; `nil` if none fails.
    package func firstFailure(
        _ simulation: (UInt64) -> QueueSimulation
    ) async throws -> SimulationFailure? {
        let clock = ContinuousClock()
        let begin = clock.now
        var reportedAt = begin
        for number in 0..<count {
            if let failure = try await simulation(start + number).failure() { return failure }
            let now = clock.now
            guard now - reportedAt > .seconds(5) || number + 1 == count else { continue }
            reportedAt = now
            let rate = Double(number + 1) / ((now - begin) / .seconds(1))
            let tenths = Int(rate * 10)
            let line =
                "simulated \(number + 1) of \(count) seeds of \(steps) steps, "
                + "\(tenths / 10).\(tenths % 10) seeds/s\n"
            // `print` would buffer the line until the end.
            FileHandle.standardOutput.write(Data(line.utf8))
        }
        return nil
    }
}

/// A repeatable random generator: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators",
/// 2014).
///
/// A random test names the seed in its failure, so that the run can be repeated.
package struct SeededGenerator: RandomNumberGenerator, Sendable, CustomStringConvertible {
    /// The seed of the generator.
    package let seed: UInt64
    private var state: UInt64

    /// Creates a generator that always yields the same sequence for a seed.
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
