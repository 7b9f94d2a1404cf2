import PollerAPI
import PollerNet
import Synchronization

/// Tracks the listeners of a node that do not accept connections yet, and announces the node after the last one.
final class Startup: Sendable {
    private let missing: Mutex<Set<String>>
    /// The listeners that use TLS.
    private let secure: Set<String>
    private let listeners: OwnListeners
    private let announcer: Announcer

    /// Creates a startup that waits for the listeners with these names.
    init(
        of expected: Set<String>,
        listeners: OwnListeners,
        secure: Set<String>,
        announcer: Announcer
    ) {
        self.secure = secure
        self.announcer = announcer
        missing = Mutex(expected)
        self.listeners = listeners
    }

    /// The listeners that do not accept connections yet, for the readiness probe.
    var unbound: [String] { missing.withLock { $0.sorted() } }

    /// Records that a listener accepts connections.
    func bound(_ name: String, _ address: ListenAddress) {
        listeners.add(host: address.host, port: address.port)
        let isComplete = missing.withLock { missing in
            let scheme = secure.contains(name) ? "https" : "http"
            announcer.listening(name, at: "\(scheme)://\(address)")
            if name == "api" { announcer.dashboard(at: "\(scheme)://\(address)") }
            return missing.remove(name) != nil && missing.isEmpty
        }
        if isComplete { announcer.ready() }
    }
}
