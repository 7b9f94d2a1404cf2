import Synchronization

/// The redirects of an app that are under way, to hand each received address to.
///
/// A class, because the app's parts share it. Contexts that have ended are let go with the next address.
public final class RedirectContexts: Sendable {
    /// More redirects than this are not under way in one app: the oldest is let go.
    private static let contextsMax = 1024

    private let contexts = Mutex<[RedirectContext]>([])

    /// Starts with none.
    public init() {}

    /// Adds a redirect.
    public func add(_ context: RedirectContext) {
        contexts.withLock { contexts in
            if contexts.count == Self.contextsMax { contexts.removeFirst() }
            contexts.append(context)
        }
    }

    /// Hands an address to every redirect, not only to the first it belongs to, as the SDK does.
    ///
    /// - Parameter address: As the system handed it over.
    /// - Returns: Whether it was the return URL of any.
    @discardableResult
    public func handle(returnURL address: String) async -> Bool {
        let waiting = contexts.withLock { contexts in
            contexts.removeAll { $0.state == .completed || $0.state == .cancelled }
            return contexts
        }
        var isKnown = false
        for context in waiting where await context.handle(returnURL: address) { isKnown = true }
        return isKnown
    }
}
