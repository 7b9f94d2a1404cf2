import ChildPrograms
import Foundation
import Synchronization

/// An nginx process for measurements: an independent upstream and webhook recipient, over HTTP and TLS.
///
/// It responds to every source with the same 1.4 KB of a pending source under the requested id, or of a chargeable one
/// at ``changedURL``, and to every webhook with 200. Connections stay open. Over TLS it offers HTTP/2 and HTTP/1.1, as
/// Stripe does, with a certificate made for the run. It counts its requests (`stub_status`), so a worker's poll count
/// can be compared with the received requests.
///
/// It is a class because it owns the process and its temporary folder.
final class NginxServer: Sendable {
    /// The file on Debian, which a user's `PATH` may not include.
    private static let standardFile = "/usr/sbin/nginx"
    /// The longest time until it listens.
    private static let startTimeout = Duration.seconds(10)

    /// The URL, `http://127.0.0.1:port`.
    let url: String
    /// The URL of the same responses, which take four seconds each.
    let slowURL: String
    /// The URL at which every source is chargeable.
    let changedURL: String
    /// The URLs over TLS, `https://localhost:port`, with their authority.
    ///
    /// It is `nil` without openssl, or if no process can be made to trust the certificate.
    let secured: (url: String, changedURL: String, authority: TrustedAuthority)?
    private let folder: String
    private let process: ChildProcess
    /// The number of requests for the count itself.
    private let asked = Mutex(0)

    /// Starts nginx, or returns `nil` if it is not installed.
    static func start() async throws -> NginxServer? {
        let standard = FileManager.default.isExecutableFile(atPath: standardFile)
        guard let program = Programs.installed("nginx") ?? (standard ? standardFile : nil) else {
            return nil
        }
        let server = try NginxServer(program)
        try await server.awaitStart()
        return server
    }

    private init(_ program: String) throws {
        folder = NSTemporaryDirectory() + "/pollerd-nginx-\(UUID().uuidString)"
        SignalledEnd.add(temporary: folder)
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        let ports = try Ports()
        url = "http://127.0.0.1:\(ports.plain)"
        slowURL = "http://127.0.0.1:\(ports.slow)"
        changedURL = "http://127.0.0.1:\(ports.changed)"
        let certificate = "\(folder)/certificate.pem"
        if try Self.makeCertificate(certificate, key: "\(folder)/key.pem"),
            let authority = TrustedAuthority(file: certificate)
        {
            secured = (
                "https://localhost:\(ports.secure)", "https://localhost:\(ports.secureChanged)",
                authority
            )
        } else {
            secured = nil
        }
        let text = Self.configuration(folder, ports, isSecure: secured != nil)
        try text.write(toFile: "\(folder)/nginx.conf", atomically: false, encoding: .utf8)
        process = try ChildProcess(
            program,
            ["-p", folder, "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error.log"]
        )
    }

    deinit { stop() }

    /// Ends nginx and removes its folder.
    func stop() {
        process.kill()
        SignalledEnd.remove(temporary: folder)
    }

    /// Returns the number of requests so far, without those for this count.
    func requests() async throws -> Int {
        let text = try await BenchRequest.text("\(url)/status")
        // The line "… accepts handled requests", with the numbers on the next line.
        guard let found = text.firstMatch(of: #/\d+ \d+ (\d+)/#), let all = Int(found.1) else {
            throw BenchError("nginx does not count its requests: \(text)")
        }
        return asked.withLock { asked in
            asked += 1
            return all - asked
        }
    }

    /// Returns the number of requests in progress.
    func writing() async throws -> Int {
        let text = try await BenchRequest.text("\(url)/status")
        asked.withLock { $0 += 1 }
        // The status request is one of them.
        return max((text.firstMatch(of: #/Writing: (\d+)/#).flatMap { Int($0.1) } ?? 1) - 1, 0)
    }

    private func awaitStart() async throws {
        let end = ContinuousClock.now + Self.startTimeout
        while ContinuousClock.now < end, !process.hasDied {
            if (try? await requests()) != nil { return }
            // Cancelled: the next request fails.
            try? await Task.sleep(for: .milliseconds(10))
        }
        let log = try? String(contentsOfFile: "\(folder)/error.log", encoding: .utf8)
        throw BenchError("nginx did not start: \(log ?? "it printed nothing")")
    }

    /// Creates a self-signed certificate for `localhost`, or returns `false` without openssl.
    private static func makeCertificate(_ certificate: String, key: String) throws -> Bool {
        guard let program = Programs.installed("openssl") else { return false }
        let openssl = try ChildProcess(
            program,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate,
            ]
        )
        let end = ContinuousClock.now + .seconds(10)
        while !openssl.hasDied, ContinuousClock.now < end { usleep(2000) }
        return FileManager.default.fileExists(atPath: certificate)
    }

    private struct Ports {
        let plain: Int
        let slow: Int
        let changed: Int
        let secure: Int
        let secureChanged: Int

        init() throws {
            plain = try FreePort.find()
            slow = try FreePort.find()
            changed = try FreePort.find()
            secure = try FreePort.find()
            secureChanged = try FreePort.find()
        }
    }

    /// A single process, because its CPU is not part of the measurement and a machine with two cores has no room for
    /// more.
    private static func configuration(
        _ folder: String,
        _ ports: Ports,
        isSecure: Bool
    ) -> String {
        func tls(_ port: Int) -> String {
            guard isSecure else { return "" }
            return """
                listen 127.0.0.1:\(port) ssl http2 backlog=4096;
                ssl_certificate \(folder)/certificate.pem;
                ssl_certificate_key \(folder)/key.pem;
                ssl_protocols TLSv1.2 TLSv1.3;
                """
        }
        func source(_ status: String, redirect: String) -> String {
            let object = Self.source(status, redirect: redirect)
            return "location ~ ^/v1/sources/(src_[0-9A-Za-z]+)$ { return 200 '\(object)'; }"
        }
        let pending = source("pending", redirect: "pending")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n")
        return """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log \(folder)/error.log;
            events { worker_connections 8192; }
            http {
            access_log off;
            keepalive_requests 1000000000;
            keepalive_timeout 1h;
            default_type application/json;
            \(temporary)
            server {
            listen 127.0.0.1:\(ports.plain) backlog=4096;
            \(tls(ports.secure))
            location = /status { stub_status; }
            \(pending)
            location /hook/ { return 200; }
            }
            server {
            listen 127.0.0.1:\(ports.slow) backlog=4096;
            limit_rate 300;
            \(pending)
            }
            server {
            listen 127.0.0.1:\(ports.changed) backlog=4096;
            \(tls(ports.secureChanged))
            \(source("chargeable", redirect: "succeeded"))
            }
            }

            """
    }

    /// A source as in Stripe's response, 1.4 KB.
    ///
    /// nginx replaces `$1` with the requested id.
    private static func source(_ status: String, redirect: String) -> String {
        let created = Int(Date().timeIntervalSince1970)
        return """
            {
              "id": "$1",
              "object": "source",
              "amount": 1099,
              "client_secret": "src_client_secret_1MZ2bLLkdIwHu7ixXsG5ZyXJ",
              "created": \(created),
              "currency": "eur",
              "flow": "redirect",
              "ideal": {
                "bank": "ing",
                "bic": "INGBNL2A",
                "iban_last4": null,
                "statement_descriptor": null
              },
              "livemode": true,
              "metadata": {
                "basket": "3 books, 1 record, delivered to the neighbours if nobody is at home",
                "customer": "41c7e0de-73a5-4a5f-9d0b-3d6c2a1f7e55",
                "order_id": "6735",
                "shop": "shop.example.com"
              },
              "owner": {
                "address": {
                  "city": "Amsterdam",
                  "country": "NL",
                  "line1": "Nieuwezijds Voorburgwal 147",
                  "line2": null,
                  "postal_code": "1012 RJ",
                  "state": null
                },
                "email": "jenny.rosen@example.com",
                "name": "Jenny Rosen",
                "phone": null,
                "verified_address": null,
                "verified_email": null,
                "verified_name": null,
                "verified_phone": null
              },
              "redirect": {
                "failure_reason": null,
                "return_url": "https://shop.example.com/thanks?order=6735",
                "status": "\(redirect)",
                "url": "https://hooks.stripe.com/redirect/authenticate/$1?client_secret=src_client_secret_1MZ2bLLk"
              },
              "statement_descriptor": "Shop order 6735",
              "status": "\(status)",
              "type": "ideal",
              "usage": "single_use"
            }
            """
    }
}
