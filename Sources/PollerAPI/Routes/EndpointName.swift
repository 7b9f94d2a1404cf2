import Poller
import PollerIdentity

/// How a request names an endpoint.
struct EndpointName: Sendable {
    let id: EndpointID
    /// An endpoint of another account is not found.
    let accounts: AccountSet
}

extension RouteInput where Value == EndpointName {
    /// The endpoint that the path names, when it is of the account that the query may name.
    static var name: Self {
        .all(
            .endpoint,
            .accounts("When it is given, an endpoint of another account is not found.")
        ) { EndpointName(id: $0, accounts: $1) }
    }
}

extension StoredEndpoint {
    /// What its `ETag` begins with: the version that a change of it replaces.
    var revision: String { String(version, radix: 36) }
}

extension Problem {
    /// "Another endpoint has this name", with its ID.
    static func endpointNameTaken(_ name: String?, by holder: EndpointID) -> Problem {
        Problem(
            .endpointNameTaken,
            "The endpoint \(holder) of this account is called \"\(name ?? "")\" already; choose another "
                + "name, or rename that one first.",
            field: "name"
        )
    }

    /// "There is no such endpoint", with what to do.
    static func endpointNotFound(_ id: EndpointID) -> Problem {
        Problem(
            .endpointNotFound,
            "There is no endpoint \(id) (under this account); GET /v1/endpoints lists them."
        )
    }
}
