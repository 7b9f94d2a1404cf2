package import JSONText
package import PollerIdentity
package import PollerOperations
package import PollerQueue

/// Registers the endpoints of a configuration file.
///
/// Their IDs are derived from account and name, so every notifier with the file produces the same registry in any
/// order. An endpoint that is no longer in the file is disabled, not removed: a line lost in an edit must not cost its
/// pending events.
package struct FileEndpoints: Sendable {
    /// The disable reason of an endpoint that is no longer in the file.
    package static let goneReason = "not in the configuration file any more"

    /// The change of one endpoint.
    package struct Change: Hashable, Sendable {
        /// The kind of change: `created`, `changed`, `enabled again` or `disabled`; or ``leftOut``.
        package let what: String
        package let id: EndpointID
        package let name: String?

        /// Whether the registry had no room for it.
        package var isLeftOut: Bool { what == leftOut }
    }

    /// The result for an endpoint beyond the registry's limit.
    ///
    /// A full registry must not keep a notifier from delivering to all others.
    static let leftOut = "not registered: the limit of endpoints is reached"

    private let configuredEndpoints: [Endpoint]
    private let store: any EndpointStore
    private let audit: Audit?

    /// The recorder of changes, and a function for the difference between two states of an endpoint.
    package typealias Audit = (
        recorder: AuditRecorder,
        difference: @Sendable (Endpoint?, Endpoint?) -> (before: RawJSON?, after: RawJSON?)
    )

    /// Creates a value for the endpoints of the file, each with a name; `audit` records the changes.
    package init(
        _ configuredEndpoints: [Endpoint],
        store: any EndpointStore,
        audit: Audit? = nil
    ) {
        self.configuredEndpoints = configuredEndpoints
        self.store = store
        self.audit = audit
    }

    /// Whether an endpoint of the file is not in the registry, because the store has lost it.
    func isMissing(in directory: EndpointDirectory) -> Bool {
        configuredEndpoints.contains { directory.known($0.id) == nil }
    }

    /// Registers again the endpoints that the store has lost, or had no room for.
    ///
    /// - Parameter report: called for each registered endpoint.
    /// - Throws: like ``apply(_:)``.
    func restore(_ report: (Change) -> Void) async throws(StoreError) {
        try await each { endpoint throws(StoreError) in
            let isThere = try await store.read(endpoint.id) != nil
            if isThere { return }
            if let change = try await apply(endpoint), !change.isLeftOut { report(change) }
        }
    }

    /// Calls `body` for each endpoint of the file; a failure does not stop the others.
    ///
    /// - Throws: the first failure, at the end; at once if the store is unavailable, which affects all of them.
    private func each(
        _ body: (Endpoint) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var failure: StoreError?
        for endpoint in configuredEndpoints {
            do throws(StoreError) {
                try await body(endpoint)
            } catch .unavailable(let reason, _) {
                throw failure ?? .unavailable(reason)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Applies the file once.
    ///
    /// - Parameter report: called for each change, and for each endpoint that was left out.
    /// - Throws: the first failure, after everything else was applied; at once if the store is unavailable.
    package func apply(_ report: (Change) -> Void = { _ in }) async throws(StoreError) {
        var failure: StoreError?
        do throws(StoreError) {
            try await each { endpoint throws(StoreError) in
                if let change = try await apply(endpoint) { report(change) }
            }
        } catch .unavailable(let reason, _) {
            throw .unavailable(reason)
        } catch {
            failure = error
        }
        let ids = Set(configuredEndpoints.map(\.id))
        var cursor: String?
        repeat {
            let page = try await store.list(accounts: .all, limit: 500, cursor: cursor)
            for endpoint in page.items
            where endpoint.isOfFile && endpoint.isEnabled && !ids.contains(endpoint.id) {
                let now = try await store.disable(endpoint.id, reason: Self.goneReason)
                await note("disableEndpoint", from: endpoint, to: now)
                report(Change(what: "disabled", id: endpoint.id, name: endpoint.name))
            }
            cursor = page.next
        } while cursor != nil
        if let failure { throw failure }
    }

    /// Whether an endpoint was removed from the file, and so is no longer needed.
    package static func hasLeft(_ endpoint: Endpoint) -> Bool {
        if case .disabled(goneReason, _, _) = endpoint.state { return true }
        return false
    }

    private func apply(_ configured: Endpoint) async throws(StoreError) -> Change? {
        guard let old = try await store.read(configured.id)?.endpoint else {
            return try await create(configured)
        }
        let new = try await store.update(configured.id) { endpoint, _ in
            endpoint.url = configured.url
            endpoint.secrets = configured.secrets
            let state = endpoint.state
            endpoint.choose(from: configured)
            endpoint.state = state
            if case .disabled(Self.goneReason, _, _) = state { endpoint.state = .enabled }
        }
        guard let new, new != old else { return nil }
        let isBack = new.isEnabled && !old.isEnabled
        await note(isBack ? "enableEndpoint" : "changeEndpoint", from: old, to: new)
        return Change(
            what: isBack ? "enabled again" : "changed",
            id: configured.id,
            name: configured.name
        )
    }

    /// Creates an endpoint of the file.
    ///
    /// The file has precedence where an endpoint of the API has the same name. That endpoint loses its name and keeps
    /// everything else, because an endpoint of the file must not depend on names that the account's keys give to their
    /// endpoints.
    private func create(_ configured: Endpoint) async throws(StoreError) -> Change? {
        // Two rounds when a name had to be freed; more only if another request takes it again each time.
        for _ in 0..<4 {
            switch try await store.create(configured, request: nil) {
            case .created(let made):
                await note("createEndpoint", from: nil, to: made)
                return Change(what: "created", id: configured.id, name: configured.name)
            case .tooMany:
                return Change(what: Self.leftOut, id: configured.id, name: configured.name)
            case .nameTaken(let holder):
                let old = try await store.read(holder)?.endpoint
                let now = try await store.update(holder) { endpoint, _ in
                    if endpoint.name == configured.name { endpoint.name = nil }
                }
                if let now, now != old { await note("changeEndpoint", from: old, to: now) }
            // Another notifier was first with the same file. The limit of an account does not apply to it.
            case .exists, .repeated, .conflict, .tooManyOfAccount: return nil
            }
        }
        throw .unavailable(
            "the name of the endpoint \(configured.id) is being taken by other requests"
        )
    }

    /// Records a change by the file, under the action names of the routes.
    private func note(_ action: String, from old: Endpoint?, to new: Endpoint?) async {
        guard let audit, let endpoint = new ?? old else { return }
        let (before, after) = audit.difference(old, new)
        await audit.recorder.record(
            AuditedChange(
                by: .configuration,
                action: action,
                target: AuditTarget(endpoint),
                account: endpoint.account,
                before: before,
                after: after
            )
        )
    }
}
