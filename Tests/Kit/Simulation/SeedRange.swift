import Foundation

/// The seeds a long run is asked for, by environment variables.
///
/// `SIMULATION_SEEDS` (how many), `SIMULATION_START` (the first, 0), `SIMULATION_STEPS` (of each
/// seed, 400). Set by `ops/simulate`; the tests that read them are skipped without.
package struct SeedRange: Hashable, Sendable {
    /// Steps of each seed.
    package let steps: Int
    private let start: UInt64
    private let count: UInt64

    /// Reads the variables; throws when one is no number.
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

    /// Plays all of them, telling now and then how far it is, up to the first that fails; nil when
    /// none does.
    package func firstFailure(
        _ simulation: (UInt64) -> QueueSimulation
    ) async throws -> SimulationFailure? {
        let clock = ContinuousClock()
        let begin = clock.now
        var told = begin
        for number in 0..<count {
            if let failure = try await simulation(start + number).failure() { return failure }
            let now = clock.now
            guard now - told > .seconds(5) || number + 1 == count else { continue }
            told = now
            let rate = Double(number + 1) / ((now - begin) / .seconds(1))
            let tenths = Int(rate * 10)
            let line =
                "simulated \(number + 1) of \(count) seeds of \(steps) steps, "
                + "\(tenths / 10).\(tenths % 10) seeds/s\n"
            // Not through `print`, whose buffer would hold it back until the end.
            FileHandle.standardOutput.write(Data(line.utf8))
        }
        return nil
    }
}
