import PollerDeliveries
import PollerNet

// The result of a request as the attempt log of a delivery records it.

extension RequestFailure {
    /// The class of an attempt without a response.
    var attemptClass: AttemptClass {
        switch cause {
        case .unresolved: .dns
        case .blocked, .wrongPeer: .blocked
        case .unusable: .unusable
        case .deadline, .connectTimeout: .timeout
        case .handshakeTimeout, .tls: .tls
        case .unreachable: .connect
        case .closed, .reset, .tooLarge, .other: .reset
        case .cancelled: .local
        }
    }
}

extension AttemptPhases {
    /// Creates the phases of an attempt from those of its request.
    init(_ phases: GuardedClient.Phases) {
        self.init(
            resolveMs: phases.resolveMs,
            connectMs: phases.connectMs,
            firstByteMs: phases.firstByteMs,
            totalMs: phases.totalMs
        )
    }
}
