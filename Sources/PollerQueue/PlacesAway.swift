import Synchronization

/// The places of a store that did not answer lately, so that not everybody waits for them.
///
/// *Problem*: what is asked of a shard that is away waits for the timeout of its command, and with it all that is
/// asked in the same turn of shards that are well.
///
/// *Approach*: who has waited in vain says so, and for a while nobody asks again. Then one does, for a second instead
/// of the timeout of a command, since it brings all of its batch along; the others go on without the place until that
/// one knows. A refusal that comes at once costs nobody time, and is not remembered: the next one may ask.
///
/// A class, because all that ask share what each has found.
package final class PlacesAway<Place: Hashable & Sendable, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// How long nobody asks, unless the place answers before.
    ///
    /// Longer than what is left for later takes to come back (5 s), or each time that it does it would be waited for.
    private static var span: Duration { .seconds(15) }
    /// How long a place that was away is waited for; who has waited so long has waited in vain.
    private static var patience: Duration { .seconds(1) }
    /// Places remembered; what is beyond is asked, and waited for.
    private static var placesMax: Int { 10_000 }

    private let clock: C
    private let away = Mutex<[Place: C.Instant]>([:])

    /// Nothing is known to be away.
    package init(clock: C) {
        self.clock = clock
    }

    /// Whether nothing is known to be away.
    package var isEmpty: Bool { away.withLock { $0.isEmpty } }

    /// Whether to ask a place now; one that was away is probed by one caller once a while.
    package func mayAsk(_ place: Place) -> PlaceAsking {
        let now = clock.now
        return away.withLock { away in
            guard let end = away[place] else { return .yes }
            guard end <= now else { return .no }
            away[place] = now.advanced(by: Self.span)
            return .probe
        }
    }

    /// Gives the turn to probe a place back, of whoever has learned nothing by it: the next one has it.
    package func giveBack(_ place: Place) {
        let now = clock.now
        away.withLock { away in
            if away[place] != nil { away[place] = now }
        }
    }

    /// Asks a place that was away, and gives up soon.
    ///
    /// - Parameter ask: asks it; it is cancelled when it takes too long, and may have been heard all the same.
    /// - Returns: what it has answered.
    /// - Throws: what it has thrown, or ``StoreError/unavailable(_:)`` when it takes too long.
    package func probing<Answer: Sendable>(
        _ ask: @escaping @Sendable () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let clock = clock
        let patience = Self.patience
        let late = StoreError.unavailable("no answer within a second")
        let found: Result<Answer, StoreError>? = await withTaskGroup(
            of: Result<Answer, StoreError>?.self
        ) { group in
            group.addTask {
                do throws(StoreError) {
                    return Result<Answer, StoreError>.success(try await ask())
                } catch {
                    return Result<Answer, StoreError>.failure(error)
                }
            }
            group.addTask {
                // Cancelled: the answer is there.
                try? await clock.sleep(for: patience)
                return nil
            }
            var found: Result<Answer, StoreError>?
            var isLate = false
            // Who is first ends the other, whose answer counts all the same if it has one.
            for await result in group {
                group.cancelAll()
                guard let result else {
                    isLate = true
                    continue
                }
                if case .failure = result, isLate {
                    found = .failure(late)
                } else {
                    found = result
                }
            }
            return found
        }
        guard let found else { throw late }
        return try found.get()
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
            guard clock.hasWaited(since: began) else {
                // Something is there that refuses: it may soon be well.
                if away[place] != nil { away[place] = now }
                return false
            }
            if away.count >= Self.placesMax { away = away.filter { $0.value > now } }
            if away.count < Self.placesMax { away[place] = now.advanced(by: Self.span) }
            return true
        }
    }
}

/// Whether a place is to be asked.
package enum PlaceAsking: Hashable, Sendable {
    /// As ever.
    case yes
    /// It did not answer lately, and the caller is to find out for all whether it does, by ``PlacesAway/probing(_:)``.
    case probe
    /// It did not answer lately.
    case no
}

extension Clock where Duration == Swift.Duration {
    /// Whether what has failed was waited for: a refusal comes at once, who does not answer takes a timeout of seconds.
    package func hasWaited(since began: Instant) -> Bool { began.duration(to: now) >= .seconds(1) }
}

/// Asks several places of a store beside each other, so that those that are away are waited for together.
///
/// - Parameters:
///   - places: whom to ask.
///   - most: how many at a time.
///   - ask: asks one.
/// - Returns: what came of each, in no order.
package func asking<Place: Sendable, Answer: Sendable>(
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
