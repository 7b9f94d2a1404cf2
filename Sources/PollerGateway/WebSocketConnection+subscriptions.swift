import Poller
import Synchronization

/// What a connection is told about: each subscription pumps by itself.
extension WebSocketConnection {
    func begin(_ subscription: Subscription, _ group: inout TaskGroup<Void>) {
        let sub = subscription.id
        state.withLock { $0.listening[sub] = 0 }
        let sink = SubscriptionSink(
            queue: queue,
            text: { [weak self] message in
                // What a stopped subscription still reads is told to nobody.
                guard let self, self.state.withLock({ $0.listening[sub] != nil }) else {
                    return nil
                }
                return ServerMessage.text(message, subscription)
            },
            progress: { [weak self] cursor in
                self?.state.withLock { state in
                    guard state.listening[sub] != nil else { return }
                    state.progress[sub] = cursor
                }
            },
            settled: { [weak self] source in
                guard let self else { return }
                self.apply(self.session { $0.settled(source, now: self.now) })
            }
        )
        let pump = SubscriptionPump(
            subscription: subscription,
            gateway: gateway,
            sink: sink,
            listening: { [weak self] number in self?.listens(sub, number) }
        )
        // A subscription that lags holds up no other; it ends when stopped or with its connection.
        group.addTask { self.ended(sub, await pump.run()) }
    }

    /// Notes the hub's number of a subscription, or ends it when it has been stopped.
    private func listens(_ sub: String, _ number: Int) {
        let isActive = state.withLock { state in
            guard state.listening[sub] != nil else { return false }
            state.listening[sub] = number
            return true
        }
        if !isActive { gateway.hub.end(number) }
    }

    func stop(_ sub: String) {
        let number = state.withLock { state in
            state.progress[sub] = nil
            return state.listening.removeValue(forKey: sub)
        }
        if let number { gateway.hub.end(number) }
    }

    private func ended(_ sub: String, _ ending: SubscriptionPump<Events, Store, C>.Ending) {
        // One that was stopped ends as if the process drained.
        guard state.withLock({ $0.listening[sub] != nil }) else { return }
        switch ending {
        case .stopped: break
        case .refused:
            session { $0.ended(sub: sub) }
            stop(sub)
        case .overloaded: close(.slowConsumer, "events come faster than they are read")
        case .drained: drain()
        }
    }
}
