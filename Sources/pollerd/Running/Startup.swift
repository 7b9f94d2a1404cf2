import PollerAPI
import PollerNet
import Synchronization

/// Counts listeners in and announces the node when the last one is bound.
final class Startup: Sendable {
    private let missing: Mutex<Int>
    /// The listeners that speak TLS.
    private let secure: Set<String>
    private let listeners: OwnListeners
    private let announcer: Announcer

    init(count: Int, listeners: OwnListeners, secure: Set<String>, announcer: Announcer) {
        self.secure = secure
        self.announcer = announcer
        missing = Mutex(count)
        self.listeners = listeners
    }

    func bound(_ what: String, _ address: ListenAddress) {
        listeners.add(host: address.host, port: address.port)
        let isComplete = missing.withLock { missing in
            let scheme = secure.contains(what) ? "https" : "http"
            announcer.listening(what, at: "\(scheme)://\(address)")
            if what == "api" { announcer.dashboard(at: "\(scheme)://\(address)") }
            missing -= 1
            return missing == 0
        }
        if isComplete { announcer.ready() }
    }
}
