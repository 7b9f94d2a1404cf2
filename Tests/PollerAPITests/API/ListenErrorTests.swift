import ServiceLifecycle
import Testing

@testable import PollerAPI

@Suite("Addresses that cannot be had")
struct ListenErrorTests {
    @Test("a port in use is named with its option and what to do, for both listeners")
    func portInUse() async throws {
        try await LiveAPI.run { api in
            let bind = ListenAddress(host: "127.0.0.1", port: api.port)
            let server = APIServer(
                bind: bind,
                backend: api.backend,
                keys: .none,
                clock: ContinuousClock(),
                logger: LiveAPI.quiet
            )
            let error = await #expect(throws: ListenError.self) { try await run(server) }
            #expect(error?.option == "api-bind")
            let text = "\(try #require(error))"
            for part in ["127.0.0.1:\(api.port)", "in use", "--api-bind", "POLLER_API_BIND"] {
                #expect(text.contains(part), "\(text)")
            }
            let admin = AdminServer(
                bind: bind,
                logger: LiveAPI.quiet,
                notReady: { [] },
                metrics: { "" }
            )
            let other = await #expect(throws: ListenError.self) { try await run(admin) }
            #expect(other?.description.contains("POLLER_ADMIN_BIND") == true)
        }
    }

    @Test("an address of another machine and an unknown name are told apart")
    func otherAddresses() async throws {
        try await LiveAPI.run { api in
            // 192.0.2.0/24 is for documentation (RFC 5737); binding sends nothing.
            for (host, part) in [
                ("192.0.2.1", "no address of this machine"), ("no.such.host.invalid", "unknown"),
            ] {
                let server = APIServer(
                    bind: ListenAddress(host: host, port: 0),
                    backend: api.backend,
                    keys: .none,
                    clock: ContinuousClock(),
                    logger: LiveAPI.quiet
                )
                let error = await #expect(throws: ListenError.self) { try await run(server) }
                #expect(error?.description.contains(part) == true, "\(host): \(error as Any)")
            }
        }
    }

    /// As pollerd runs its services.
    private func run(_ service: any Service) async throws {
        try await ServiceGroup(services: [service], logger: LiveAPI.quiet).run()
    }
}
