import PollerIncidents
import PollerQueue
import PollerRedis
import PollerTesting
import Testing

extension LiveAPI {
    /// Commits a check of the cluster with these problems.
    ///
    /// Open incidents of other kinds are resolved.
    func see(_ kinds: [IncidentKind]) async throws {
        let owner = OwnerID(unchecked: "AAAAAAAAAAA")
        let look = try #require(try await stores.incidents.beginCheck(owner, for: .seconds(10)))
        let seen = IncidentKind.allCases.map { kind in
            let problem = IncidentObservation.Problem(nil, "\(kind.rawValue) is seen")
            return (
                kind, IncidentObservation(kinds.contains(kind) ? [problem] : [], action: "mend it")
            )
        }
        var board = look.board
        let changed = board.note(Dictionary(uniqueKeysWithValues: seen), at: look.now, hold: .zero)
        let isStored = try await stores.incidents.endCheck(
            look,
            board: board,
            reporting: changed,
            pause: .zero
        )
        #expect(isStored)
    }
}
