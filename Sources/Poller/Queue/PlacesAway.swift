import Synchronization

/// The places of a store that did not answer lately, so that not everybody waits for them.
///
/// *Problem*: what is asked of a shard that is away waits for the timeout of its command, and with it all that is
/// asked in the same turn of shards that are well.
///
/// *Approach*: who has waited in vain says so, and for a while nobody asks again. Then one does, and the others go on
/// without the place until that one knows. A refusal that comes at once costs nobody time, and is not remembered.
///
/// A class, because all that ask share what each has found.
package final class PlacesAway<Place: Hashable & Sendable, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// How long nobody asks: shorter than what is left for later takes to come back (5 s).
    private static var span: Duration { .seconds(3) }
    /// Places remembered; what is beyond is asked, and waited for.
    private static var placesMax: Int { 10_000 }

    private let clock: C
    private let away = Mutex<[Place: C.Instant]>([:])

    /// Nothing is known to be away.
    package init(clock: C) {
        self.clock = clock
    }

    /// Whether to ask a place now; of one that was away, true once a while.
    package func isToBeAsked(_ place: Place) -> Bool {
        let now = clock.now
        return away.withLock { away in
            guard let end = away[place] else { return true }
            guard end <= now else { return false }
            away[place] = now.advanced(by: Self.span)
            return true
        }
    }

    /// Notes what came of asking.
    ///
    /// - Parameters:
    ///   - place: which was asked.
    ///   - isThere: whether it has answered.
    ///   - began: when it was asked.
    /// - Returns: whether the place is taken to be away.
    @discardableResult
    package func note(_ place: Place, isThere: Bool, since began: C.Instant) -> Bool {
        let now = clock.now
        return away.withLock { away in
            if isThere {
                away[place] = nil
                return false
            }
            guard clock.hasWaited(since: began) else { return false }
            if away.count >= Self.placesMax { away = away.filter { $0.value > now } }
            if away.count < Self.placesMax { away[place] = now.advanced(by: Self.span) }
            return true
        }
    }
}

extension Clock where Duration == Swift.Duration {
    /// Whether what has failed was waited for: a refusal comes at once, who does not answer takes a timeout of seconds.
    func hasWaited(since began: Instant) -> Bool { began.duration(to: now) >= .seconds(1) }
}

/// Asks several places of a store beside each other, so that those that are away are waited for together.
///
/// - Parameters:
///   - places: whom to ask.
///   - most: how many at a time.
///   - ask: asks one.
/// - Returns: what came of each, in no order.
func asking<Place: Sendable, Answer: Sendable>(
    _ places: [Place],
    most: Int = 32,
    _ ask: @escaping @Sendable (Place) async throws(StoreError) -> Answer
) async -> [(place: Place, result: Result<Answer, StoreError>)] {
    await withTaskGroup(of: (Place, Result<Answer, StoreError>).self) { group in
        var answers: [(place: Place, result: Result<Answer, StoreError>)] = []
        for (index, place) in places.enumerated() {
            if index >= most, let (place, result) = await group.next() {
                answers.append((place: place, result: result))
            }
            group.addTask {
                do throws(StoreError) {
                    return (place, .success(try await ask(place)))
                } catch {
                    return (place, .failure(error))
                }
            }
        }
        for await (place, result) in group { answers.append((place: place, result: result)) }
        return answers
    }
}
