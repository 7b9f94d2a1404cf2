import ArgumentParser
import PollerClient
import PollerWire

// Where a command takes an endpoint, it takes its ID or its name.

extension PollerClient {
    /// The ID of an endpoint that is given by its ID or by its name, within an account or in any.
    ///
    /// A name that no endpoint has is refused. For a change, an endpoint of another account than the default one is
    /// refused unless that account is named: a key that is bound to no account sees the endpoints of all tenants.
    func endpointID(
        _ text: String,
        of account: String? = nil,
        toChange isChange: Bool = false
    ) async throws -> String {
        guard !text.hasPrefix("ep_") else { return text }
        let named = try await endpoints(named: text)
        let found = named.filter { account == nil || $0.account == account }
        if found.count > 1 {
            let choices = found.map { "\($0.id) of account \($0.account)" }
            throw ValidationError(
                "endpoints of several accounts are called \"\(text)\": "
                    + "\(choices.joined(separator: ", ")); "
                    + "name one by its ID, or its account with --account"
            )
        }
        if let account, found.isEmpty, let other = named.first {
            throw ValidationError(
                "no endpoint of account \(account) is called \"\(text)\"; "
                    + "\(other.id) of account \(other.account) is"
            )
        }
        guard let one = found.first else {
            let place = account.map { " of account \($0)" } ?? ""
            throw ValidationError(
                "no endpoint\(place) has the name \"\(text)\"; "
                    + "pollerctl endpoint list shows names and IDs"
            )
        }
        guard !isChange || account != nil || one.account == Self.defaultAccount else {
            throw ValidationError(
                "the endpoint \"\(text)\" belongs to account \(one.account): "
                    + "name it by its ID, \(one.id), or add --account \(one.account)"
            )
        }
        return one.id
    }

    /// The default account of commands.
    private static var defaultAccount: String { "default" }

    /// The endpoints of that name, at most one per account.
    private func endpoints(named name: String) async throws -> [Endpoint] {
        try await everything { cursor in
            try await endpoints(limit: ServerOptions.pageMax, cursor: cursor)
        }.map(\.value).filter { $0.name == name }
    }

    /// Replaces the name of a fallback in an update by its ID.
    func resolveFallback(of update: inout EndpointUpdate, in account: String?) async throws {
        guard let notifyBy = update.notifyBy else { return }
        update.notifyBy?.fallback = try await endpointID(notifyBy.fallback, of: account)
    }
}

/// The account of an endpoint that is given by its name.
struct EndpointAccount: ParsableArguments {
    @Option(
        help: """
            The account of an endpoint that is given by its name; without it, those of other \
            accounts than default are shown and not changed.
            """
    )
    var account: String?
}
