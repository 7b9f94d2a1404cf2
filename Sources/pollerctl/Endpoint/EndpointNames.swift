import ArgumentParser
import PollerClient
import PollerWire

// Every command that takes an endpoint takes its ID or its name.

extension PollerClient {
    /// Returns the ID of an endpoint given by ID or name, in one account or in all.
    ///
    /// Throws if no endpoint has the name. For a change, it also throws if the endpoint belongs to another account
    /// than the default one and `account` is nil: a key without an account can access the endpoints of all tenants.
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
                "several accounts have an endpoint named \"\(text)\": "
                    + "\(choices.joined(separator: ", ")). "
                    + "Use an ID, or add --account"
            )
        }
        if let account, found.isEmpty, let other = named.first {
            throw ValidationError(
                "no endpoint of account \(account) has the name \"\(text)\"; "
                    + "\(other.id) of account \(other.account) has it"
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
                "endpoint \"\(text)\" belongs to account \(one.account): "
                    + "use its ID, \(one.id), or add --account \(one.account)"
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

    /// Replaces the fallback's name in an update with its ID.
    func resolveFallback(of update: inout EndpointUpdate, in account: String?) async throws {
        guard let notifyBy = update.notifyBy else { return }
        update.notifyBy?.fallback = try await endpointID(notifyBy.fallback, of: account)
    }
}

/// The account of an endpoint given by name.
struct EndpointAccount: ParsableArguments {
    @Option(
        help: """
            The account of an endpoint given by name; required to change an endpoint of an account \
            other than default.
            """
    )
    var account: String?
}
