/// Makes a failing list of steps as short as it gets.
///
/// Delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input",
/// 2002), only with complements: leave out a chunk, and keep what is left if it still fails;
/// halve the chunks when none can be left out. In the end no single step can be dropped.
package struct SimulationShrinker {
    /// How often a list is played at most: enough for 1,000 steps of which 30 matter, and an end
    /// for lists that fail only now and then.
    private static let playsMax = 3000

    /// The shortest list found that still fails; `fails` plays a list from the beginning.
    ///
    /// Any failure counts: a shorter way to another mistake is as good a report. `simpler` are
    /// the ways to make one step smaller, tried when no step can be left out.
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

    /// The list with one step made smaller; nil when none can be.
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
