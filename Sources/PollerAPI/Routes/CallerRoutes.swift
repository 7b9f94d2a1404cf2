import Hummingbird
import PollerIdentity
import PollerOperations
import PollerWire

/// The caller's permissions, for programs that hide actions their key does not allow.
struct CallerRoutes {
    private static let caller = Route(
        .get,
        "/v1/caller",
        "getCaller",
        "Read the permissions of the current key",
        // Every role may read watches, so every key may use this route.
        access: .key(.readWatches),
        answers: [.ok("The key's holder.", "Caller")],
        usesStore: false
    )

    var routes: [AnsweredRoute] {
        [Self.caller.answered(by: caller)]
    }

    private func caller(_: Void, _ context: APIContext) async throws -> Response {
        Response(KeyHolder(context.caller))
    }
}

extension KeyHolder {
    /// Creates the description of a caller.
    init(_ caller: Caller) {
        self.init()
        name = caller.name
        scopes = caller.scopes.map(\.rawValue).sorted()
        accounts = caller.accounts.names
        endsAt = caller.endsAt.map { Time($0) }
    }
}
