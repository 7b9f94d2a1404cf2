/// Shortens a failing list of steps as far as possible.
///
/// Delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input", 2002), only with
/// complements: leave out a chunk, and keep the rest if it still fails. If no chunk can be left out, halve the chunks.
/// In the end no single step can be dropped.
package struct SimulationShrinker {
    /// The most plays of a list.
    ///
    /// It is enough for 1,000 steps of which 30 matter, and ends the search for lists that fail only sometimes.
    private static let playsMax = 3000

    /// Returns the shortest list found that still fails; `fails` plays a list from the beginning.
    ///
    /// Any failure counts: a shorter list that shows another mistake is as good a report. `simpler` returns the ways to
    /// make one step smaller, tried when no step can be left out.
    package static func minimal<Step>(
        _ steps: [Step],
        simpler: (Step) -> [Step] = { _ in [] },
        fails: ([Step]) async throws -> Bool
    ) async rethrows -> [Step] {
        var kept = steps
        var chunk = max(1, kept.count / 2)
        var plays = 0
        while !kept.isEmpty, plays < playsMax {
            var start = 0
            var isShorter = false
            while start < kept.count, plays < playsMax {
                var candidate = kept
                candidate.removeSubrange(start..<min(start + chunk, kept.count))
                plays += 1
                if try await fails(candidate) {
                    kept = candidate
                    isShorter = true
                } else {
                    start += chunk
                }
            }
            if isShorter { continue }
            if chunk > 1 {
                chunk /= 2
                continue
            }
            let (smaller, more) = try await simplified(kept, simpler, fails)
            guard let smaller else { break }
            kept = smaller
            plays += more
        }
        return kept
    }

    /// Returns the list with one step made smaller, or `nil`.
    private static func simplified<Step>(
        _ steps: [Step],
        _ simpler: (Step) -> [Step],
        _ fails: ([Step]) async throws -> Bool
    ) async rethrows -> (steps: [Step]?, plays: Int) {
        var plays = 0
        for index in steps.indices {
            for step in simpler(steps[index]) {
                var candidate = steps
                candidate[index] = step
                plays += 1
                if try await fails(candidate) { return (candidate, plays) }
            }
        }
        return (nil, plays)
    }
}

/// A seed for which a store differs from the model, with the shortest steps to the difference.
package struct SimulationFailure: Hashable, Sendable, CustomStringConvertible {
    /// The seed, which generates the same steps again.
    package let seed: UInt64
    /// The number of steps played for the seed.
    package let steps: Int
    /// The difference.
    package let message: String
    /// The shortest steps to a difference, one line each.
    package let trace: [String]

    package var description: String {
        "seed \(seed), \(steps) steps: \(message)\n  " + trace.joined(separator: "\n  ")
    }
}
