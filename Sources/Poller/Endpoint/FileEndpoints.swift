package import JSONText
package import PollerIdentity
package import PollerQueue

/// Makes the registry agree with the endpoints that a configuration file describes.
///
/// Their ids follow from account and name, so that every notifier with the file comes to the same
/// registry, whoever is first. An endpoint that is no longer in the file is disabled, not
/// removed: a line lost in an edit must not cost anybody what waits for them.
package struct FileEndpoints: Sendable {
    /// Why an endpoint is disabled that the file does not name any more.
    package static let goneReason = "not in the configuration file any more"

    /// What was done to one endpoint.
    package struct Change: Hashable, Sendable {
        /// `created`, `changed`, `enabled again` or `disabled`; or ``leftOut``.
        package let what: String
        package let id: EndpointID
        /// The endpoint's name in the file.
        package let name: String?

        /// Whether it is one there was no room for.
        package var isLeftOut: Bool { what == leftOut }
    }

    /// What became of an endpoint that is one too many: whoever filled the registry must not keep a
    /// notifier from telling all others.
    static let leftOut = "left out: there is no room for it"

    private let wanted: [Endpoint]
    private let store: any EndpointStore
    private let audit: Audit?

    /// Where changes are noted, and what tells one state of an endpoint from another.
    package typealias Audit = (
        recorder: AuditRecorder,
        difference: @Sendable (Endpoint?, Endpoint?) -> (before: RawJSON?, after: RawJSON?)
    )

    /// Those of the file, each with a name; what they change is noted in `audit`.
    package init(
        _ wanted: [Endpoint],
        store: any EndpointStore,
        audit: Audit? = nil
    ) {
        self.wanted = wanted
        self.store = store
        self.audit = audit
    }

    /// Whether an endpoint of the file is not in the registry: the store has lost it.
    func isMissing(in directory: EndpointDirectory) -> Bool {
        wanted.contains { directory.known($0.id) == nil }
    }

    /// Makes those again that the store has lost, or had no room for.
    ///
    /// - Parameter tell: hears of each that was made.
    /// - Throws: as ``apply(_:)``.
    func restore(_ tell: (Change) -> Void) async throws(StoreError) {
        try await each { endpoint throws(StoreError) in
            let isThere = try await store.read(endpoint.id) != nil
            if isThere { return }
            if let change = try await apply(endpoint), !change.isLeftOut { tell(change) }
        }
    }

    /// Does something with each endpoint of the file; one that cannot be dealt with holds up no other.
    ///
    /// - Throws: the first failure, at the end; at once where the store is away, which it is for all of them.
    private func each(
        _ body: (Endpoint) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var failure: StoreError?
        for endpoint in wanted {
            do throws(StoreError) {
                try await body(endpoint)
            } catch .unavailable(let reason) {
                throw failure ?? .unavailable(reason)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Applies the file once.
    ///
    /// - Parameter tell: hears of each change, and of what there is no room for.
    /// - Throws: the first failure, when all that goes was done; at once where the store is away.
    package func apply(_ tell: (Change) -> Void = { _ in }) async throws(StoreError) {
        var failure: StoreError?
        do throws(StoreError) {
            try await each { endpoint throws(StoreError) in
                if let change = try await apply(endpoint) { tell(change) }
            }
        } catch .unavailable(let reason) {
            throw .unavailable(reason)
        } catch {
            failure = error
        }
        let ids = Set(wanted.map(\.id))
        var cursor: String?
        repeat {
            let page = try await store.list(accounts: .all, limit: 500, cursor: cursor)
            for endpoint in page.items
            where endpoint.isOfFile && endpoint.isEnabled && !ids.contains(endpoint.id) {
                let now = try await store.disable(endpoint.id, reason: Self.goneReason)
                await note("disableEndpoint", from: endpoint, to: now)
                tell(Change(what: "disabled", id: endpoint.id, name: endpoint.name))
            }
            cursor = page.next
        } while cursor != nil
        if let failure { throw failure }
    }

    /// Whether an endpoint was of a file that does not name it any more: nobody needs it.
    package static func hasLeft(_ endpoint: Endpoint) -> Bool {
        if case .disabled(goneReason, _, _) = endpoint.state { return true }
        return false
    }

    private func apply(_ wish: Endpoint) async throws(StoreError) -> Change? {
        guard let old = try await store.read(wish.id)?.endpoint else {
            return try await create(wish)
        }
        let new = try await store.update(wish.id) { endpoint, _ in
            endpoint.url = wish.url
            endpoint.secrets = wish.secrets
            let state = endpoint.state
            endpoint.choose(from: wish)
            endpoint.state = state
            if case .disabled(Self.goneReason, _, _) = state { endpoint.state = .enabled }
        }
        guard let new, new != old else { return nil }
        let isBack = new.isEnabled && !old.isEnabled
        await note(isBack ? "enableEndpoint" : "changeEndpoint", from: old, to: new)
        return Change(
            what: isBack ? "enabled again" : "changed",
            id: wish.id,
            name: wish.name
        )
    }

    /// Creates an endpoint of the file.
    ///
    /// The file has precedence where an endpoint of the API has the same name. That endpoint loses its name and keeps
    /// everything else, because a receiver of the file must not depend on names that the account's keys give to their
    /// endpoints.
    private func create(_ wish: Endpoint) async throws(StoreError) -> Change? {
        // Two rounds when a name had to be freed; more only if another request takes it again each time.
        for _ in 0..<4 {
            switch try await store.create(wish, request: nil) {
            case .created(let made):
                await note("createEndpoint", from: nil, to: made)
                return Change(what: "created", id: wish.id, name: wish.name)
            case .tooMany:
                return Change(what: Self.leftOut, id: wish.id, name: wish.name)
            case .nameTaken(let holder):
                let old = try await store.read(holder)?.endpoint
                let now = try await store.update(holder) { endpoint, _ in
                    if endpoint.name == wish.name { endpoint.name = nil }
                }
                if let now, now != old { await note("changeEndpoint", from: old, to: now) }
            // Another notifier was faster with the same file, which no account's limit bounds.
            case .exists, .repeated, .conflict, .tooManyOfAccount: return nil
            }
        }
        throw .unavailable("the name of the endpoint \(wish.id) is being taken by others")
    }

    /// Notes what the file has changed, as the routes call it.
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
