import PollerDeliveries
import PollerIdentity

/// The endpoint of a request.
struct EndpointName: Sendable {
    let id: EndpointID
    /// The accounts in which the endpoint is searched.
    let accounts: AccountSet
}

extension RouteInput where Value == EndpointName {
    /// The endpoint in the path, in the account that the query may name.
    static var name: Self {
        .all(
            .endpoint,
            .accounts("If given, an endpoint of another account is not found.")
        ) { EndpointName(id: $0, accounts: $1) }
    }
}

extension StoredEndpoint {
    /// The prefix of the `ETag`: the version that a change replaces.
    var revision: String { String(version, radix: 36) }
}

extension Problem {
    /// Creates the problem of a name that another endpoint has.
    static func endpointNameTaken(_ name: String?, by holder: EndpointID) -> Problem {
        Problem(
            .endpointNameTaken,
            "The endpoint \(holder) of this account already has the name "
                + "\"\(name ?? "")\"; choose another name, or rename that endpoint first.",
            field: "name"
        )
    }

    /// Creates the problem of an endpoint that does not exist.
    static func endpointNotFound(_ id: EndpointID) -> Problem {
        Problem(
            .endpointNotFound,
            "There is no endpoint \(id) (under this account); GET /v1/endpoints lists them."
        )
    }
}
