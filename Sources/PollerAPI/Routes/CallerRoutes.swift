import Hummingbird
import Poller
import PollerIdentity
import PollerWire

/// Who asks, as the server knows them: for programs that leave out what their key may not do.
struct CallerRoutes {
    private static let caller = Route(
        .get,
        "/v1/caller",
        "getCaller",
        "Read what the key of this request may do",
        // Every role may read watches, so every key may ask this.
        access: .key(.readWatches),
        answers: [.ok("The key's holder.", "Caller")],
        usesStore: false
    )

    var routes: [AnsweredRoute] {
        [Self.caller.answered(by: caller)]
    }

    @Sendable
    private func caller(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        Response(KeyHolder(context.caller))
    }
}

extension KeyHolder {
    /// A caller's description of itself.
    init(_ caller: Caller) {
        self.init()
        name = caller.name
        scopes = caller.scopes.map(\.rawValue).sorted()
        accounts = caller.accounts.names
        endsAt = caller.endsAt.map { Time($0) }
    }
}
