import Poller

/// Looks at the whole cluster for those who only want to know how it stands, at a bounded cost.
///
/// A look walks over the lanes, so of a cluster with many it costs the store more than an
/// ordinary request. A look at many lanes is therefore kept, for twenty times as long as it
/// took, and for as long again while somebody takes the next one: however many people look,
/// looking takes about a twentieth of the store's time.
///
/// An actor, because all requests share the look that is kept.
actor Surveyor {
    /// Lanes looked at: 40 reads, a few MB.
    ///
    /// Of a cluster with more the rest is listed in the store's own order.
    static let lanesMax = 10_000
    /// Lanes read at a time, so that other operations get their turn between.
    private static let page = 250
    /// A look at no more lanes is as cheap as any request, and everybody gets a fresh one.
    static let fewLanes = 500
    private static let keptPerLook = 20
    /// However long a look took: an operator wants to see today's trouble.
    private static let keptAtMost = Duration.seconds(60)

    private let backend: APIBackend
    private let clock: any Clock<Duration>
    private var latest: Look?
    private var looking = 0
    /// Counts the changes that made older looks wrong.
    private var changes = 0

    private struct Look {
        let survey: ClusterSurvey
        let age: @Sendable () -> Duration
        let keep: Duration
    }

    init(backend: APIBackend, clock: any Clock<Duration>) {
        self.backend = backend
        self.clock = clock
    }

    /// How the cluster stands, now or a moment ago.
    func look() async throws(StoreError) -> ClusterSurvey {
        if let latest, latest.age() < latest.keep * (looking > 0 ? 2 : 1) {
            return latest.survey
        }
        looking += 1
        defer { looking -= 1 }
        let (age, seen) = (clock.stopwatch(), changes)
        let survey = try await read()
        let took = age()
        if seen == changes {
            let isCheap = survey.lanes.count <= Self.fewLanes
            let keep = isCheap ? .zero : min(took * Self.keptPerLook, Self.keptAtMost)
            latest = Look(survey: survey, age: age, keep: keep)
        }
        return survey
    }

    /// Looks anew at the next call: something was changed on purpose, and who did it wants to
    /// see it.
    func forget() {
        changes += 1
        latest = nil
    }

    private func read() async throws(StoreError) -> ClusterSurvey {
        var lanes: [LaneReport] = []
        var cursor: String?
        repeat {
            let page = try await backend.lanes.lanes(limit: Self.page, cursor: cursor)
            lanes += page.items
            cursor = page.next
        } while cursor != nil && lanes.count < Self.lanesMax
        return ClusterSurvey(
            watches: try await backend.watches.stats(),
            deliveries: try await backend.deliveries.stats(),
            lanes: lanes,
            more: cursor,
            members: try await backend.members.members()
        )
    }
}
