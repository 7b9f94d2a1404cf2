import Poller
import PollerQueue
import PollerTesting
import Testing

extension LiveAPI {
    /// Commits a check of the cluster with these problems.
    ///
    /// Open incidents of other kinds are resolved.
    func see(_ kinds: [IncidentKind]) async throws {
        let owner = OwnerID(unchecked: "AAAAAAAAAAA")
        let look = try #require(try await store.takeLook(owner, for: .seconds(10)))
        let seen = IncidentKind.allCases.map { kind in
            let trouble = Sighting.Trouble(nil, "\(kind.rawValue) is seen")
            return (kind, Sighting(kinds.contains(kind) ? [trouble] : [], action: "mend it"))
        }
        var board = look.board
        let news = board.note(Dictionary(uniqueKeysWithValues: seen), at: look.now, hold: .zero)
        let isStored = try await store.endLook(look, board: board, telling: news, pause: .zero)
        #expect(isStored)
    }
}
