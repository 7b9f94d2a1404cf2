import Foundation
import PollerTesting
import RedisClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedisClientLoginTests {
    @Test("an ACL user logs in, with database and connection name, over a Unix socket too")
    func acl() async throws {
        let server = try RedisServerProcess(arguments: [
            "--user", "default", "off", "--user", "bob", "on", ">s:ec/ret", "~*", "&*", "+@all",
        ])
        var configuration = LiveRedis.patient
        configuration.clientName = "worker-1"
        for url in [
            "redis://bob:s%3Aec%2Fret@127.0.0.1:\(server.port)/3",
            "unix://bob:s%3Aec%2Fret@\(server.socketPath)?db=3",
        ] {
            try await LiveRedis.withClient(url, configuration: configuration) { client in
                let info = try await client.send(RedisCommand("CLIENT", ["LIST"])).string ?? ""
                #expect(info.contains("name=worker-1") && info.contains("db=3"))
                #expect(info.contains("user=bob"))
            }
        }
    }

    @Test("a wrong password is logged with a remedy, without the password, and retried")
    func wrongPassword() async throws {
        let server = try RedisServerProcess()
        let log = RecordedLog()
        var configuration = LiveRedis.patient
        configuration.reconnectCap = .milliseconds(50)
        let url = "redis://bob:hunter2@127.0.0.1:\(server.port)"
        try await LiveRedis.withClient(url, configuration: configuration, logger: log.logger) {
            client in
            try await eventually("two attempts are logged") {
                log.all.filter { $0.contains("WRONGPASS") }.count >= 2
            }
            let line = log.all.first { $0.contains("WRONGPASS") } ?? ""
            #expect(line.hasPrefix("error") && line.contains("correct the user name"))
            await #expect(throws: RedisError.notConnected) {
                try await client.waitUntilConnected(timeout: .milliseconds(1))
            }
            try await LiveRedis.withClient(server.url) { admin in
                _ = try await admin.send(
                    RedisCommand("ACL", ["SETUSER", "bob", "on", ">hunter2", "+@all"])
                )
            }
            try await client.waitUntilConnected(timeout: .seconds(60))
        }
        #expect(!log.all.contains { $0.contains("hunter2") })
        #expect(log.all.contains { $0.contains("redis://bob:***@") })
    }

    @Test("a missing login and a database that does not exist are logged with a remedy")
    func refused() async throws {
        let server = try RedisServerProcess(arguments: ["--requirepass", "x", "--databases", "4"])
        for (url, advice) in [
            (server.url, "redis://user:password"),
            ("redis://:x@127.0.0.1:\(server.port)/4", "raise `databases`"),
        ] {
            let log = RecordedLog()
            try await LiveRedis.withClient(url, logger: log.logger) { _ in
                try await eventually("the remedy is logged") {
                    log.all.contains { $0.contains(advice) }
                }
            }
        }
    }

    @Test("TLS verifies the server by authority, address and name")
    func tls() async throws {
        let certificates = try TestCertificates()
        let server = try RedisServerProcess(tls: certificates.files)
        var trusting = LiveRedis.patient
        trusting.tls.trustRootsFile = certificates.files.authority.path
        for host in ["127.0.0.1", "localhost"] {
            try await LiveRedis.withClient(
                "rediss://\(host):\(server.port)",
                configuration: trusting
            ) { client in
                let reply = try await client.send(RedisCommand("PING"))
                #expect(reply.string == "PONG")
            }
        }
        let named = "rediss://127.0.0.1:\(server.port)?ca=\(certificates.files.authority.path)"
        try await LiveRedis.withClient(named) { client in
            let reply = try await client.send(RedisCommand("PING"))
            #expect(reply.string == "PONG")
        }
        let url = "rediss://127.0.0.1:\(server.port)"
        var further = LiveRedis.patient
        further.tls.additionalRootsFile = certificates.files.authority.path
        try await LiveRedis.withClient(url, configuration: further) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
        }
        var careless = LiveRedis.patient
        careless.tls.verifiesServer = false
        try await LiveRedis.withClient(url, configuration: careless) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
        }
        let log = RecordedLog()
        try await LiveRedis.withClient(url, logger: log.logger) { client in
            try await eventually("an unknown authority is rejected") {
                log.all.contains { $0.contains("CERTIFICATE_VERIFY_FAILED") }
            }
            // The log contains no source paths of the machine that built NIOSSL.
            #expect(!log.all.contains { $0.contains(".cc:") || $0.contains("swift-nio-ssl") })
            #expect(!client.isConnected)
        }
    }

    @Test("an outage of Redis is logged with its loss, its cause and one recovery")
    func quiet() async throws {
        let server = try RedisServerProcess()
        let log = RecordedLog()
        var configuration = LiveRedis.patient
        configuration.reconnectCap = .milliseconds(20)
        try await LiveRedis.withClient(
            server.url,
            configuration: configuration,
            logger: log.logger
        ) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            server.kill()
            try await eventually("it is retried often") {
                log.all.filter { $0.contains("connecting to Redis failed") }.count > 10
            }
            try server.restart()
            try await client.waitUntilConnected(timeout: .seconds(60))
        }
        // The first connection, its loss, the cause of the outage, and the second connection.
        let lines = log.all.filter { !$0.hasPrefix("debug") && !$0.hasPrefix("trace") }
        #expect(lines.map { $0.prefix { $0 != ":" } } == ["info", "warning", "error", "info"])
    }

    @Test("an unreadable trust file ends the run with an error")
    func badTrustFile() async throws {
        var configuration = LiveRedis.patient
        configuration.tls.trustRootsFile = "/nonexistent/ca.pem"
        await #expect(throws: (any Error).self) {
            try await LiveRedis.withClient("rediss://127.0.0.1:1", configuration: configuration) {
                _ in
            }
        }
    }

    @Test(
        "a server that does not speak Redis is logged as such, and retried",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "invalid reply"),
            ("*1000000000\r\n", "too large"),
            ("-DENIED Redis is running in protected mode\r\n", "protected mode"),
            ("", "did not answer the login"),
            ("+PONG\r\n+PONG\r\n", "invalid reply"),
        ]
    )
    func notRedis(greeting: String, explanation: String) async throws {
        let log = RecordedLog()
        var configuration = LiveRedis.impatient(.milliseconds(200))
        configuration.reconnectCap = .milliseconds(20)
        try await HostileServer.with(greeting: greeting) { port in
            try await LiveRedis.withClient(
                "redis://127.0.0.1:\(port)",
                configuration: configuration,
                logger: log.logger
            ) { client in
                // The last greeting passes as a login; then the extra reply is detected.
                try await eventually("two attempts are logged") {
                    log.all.filter { $0.contains(explanation) }.count >= 2
                }
            }
        }
    }
}

/// A certificate authority and a certificate for 127.0.0.1 and localhost, made by openssl; removed
/// with the last reference.
final class TestCertificates {
    let files: RedisServerProcess.TLSFiles
    private let directory: URL

    init() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("certificates-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.directory = directory
        func file(_ name: String) -> URL { directory.appendingPathComponent(name) }
        self.files = RedisServerProcess.TLSFiles(
            certificate: file("server.pem"),
            key: file("server.key"),
            authority: file("ca.pem")
        )
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try Self.openssl(
            ["req", "-x509"] + newKey + [
                "-days", "2", "-subj", "/CN=Test authority", "-keyout", file("ca.key").path,
                "-out", file("ca.pem").path,
            ]
        )
        try Self.openssl(
            ["req"] + newKey + [
                "-subj", "/CN=redis", "-keyout", file("server.key").path, "-out",
                file("server.csr").path,
            ]
        )
        try Data("subjectAltName=IP:127.0.0.1,DNS:localhost".utf8).write(to: file("san"))
        try Self.openssl([
            "x509", "-req", "-in", file("server.csr").path, "-CA", file("ca.pem").path, "-CAkey",
            file("ca.key").path, "-CAcreateserial", "-days", "2", "-extfile", file("san").path,
            "-out", file("server.pem").path,
        ])
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)  // a temporary folder may stay behind
    }

    private static func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CocoaError(.executableLoad, userInfo: ["arguments": arguments])
        }
    }
}
